"""The option ``--cluster``, given to every verb that computes long enough, in one way."""

import inspect
import shlex
from collections.abc import Callable
from functools import wraps
from inspect import Parameter
from typing import Annotated, Any

import typer

from stillome.cli.console import Stopped

Cluster = Annotated[
    str | None,
    typer.Option(
        help="The address of a Dask scheduler (tcp://…), whose workers compute; needs "
        "stillome[cluster]."
    ),
]
_LAST = ("report", "with_subjects", "resume", "dropped", "overwrite", "quiet")


def runs_on_cluster(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the option ``--cluster``, and connect before it begins.

    Examples
    --------
    >>> @runs_on_cluster
    ... def count(jobs: int = 2, quiet: bool = False) -> None:
    ...     print(jobs)
    >>> list(inspect.signature(count).parameters)
    ['jobs', 'cluster', 'quiet']
    >>> count()
    2
    """

    @wraps(verb)
    def connected_verb(cluster: str | None = None, **given: Any) -> None:
        from stillome.cluster.engine import connected

        with connected(cluster):
            try:
                verb(**given)
            except Stopped as how:
                again = "" if cluster is None else f" --cluster {shlex.quote(cluster)}"
                raise Stopped(f"{how}{again}") from how

    option = Parameter("cluster", Parameter.KEYWORD_ONLY, default=None, annotation=Cluster)
    known = [
        one.replace(kind=Parameter.KEYWORD_ONLY)
        for one in inspect.signature(verb, eval_str=True).parameters.values()
    ]
    place = next((i for i, one in enumerate(known) if one.name in _LAST), len(known))
    parameters = [*known[:place], option, *known[place:]]
    connected_verb.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    connected_verb.__annotations__ = {one.name: one.annotation for one in parameters}
    del connected_verb.__wrapped__  # its signature is another
    return connected_verb
