import dataclasses
from pathlib import Path

import pytest
import torch

from network_samples import make_module, make_subjects, seeded
from stillome.exceptions import FileError, FitError
from stillome.methods.graph_vae.checkpoint import read_checkpoint, write_checkpoint
from stillome.methods.graph_vae.network import GraphVAEModule, Subjects
from stillome.methods.graph_vae.train import (
    EpochRecord,
    Progress,
    TrainingPlan,
    copy_weights,
    make_optimizer,
    run_epoch,
    train,
)

PLAN = TrainingPlan(1e-2, batch_size=8, max_epochs=6, invariance_weight=1.0, n_samples=2)


def single(n: int = 30) -> tuple[GraphVAEModule, Subjects]:
    subjects = make_subjects(n)
    return make_module().float(), Subjects(*(values.float() for values in subjects))


def trained(plan: TrainingPlan = PLAN, **more: object) -> tuple[GraphVAEModule, Progress]:
    module, subjects = single()
    progress = Progress(copy_weights(module))
    held_out = subjects.take(torch.arange(24, 30))
    train(
        module,
        subjects.take(torch.arange(24)),
        held_out,
        plan,
        seeded(3),
        optimizer=make_optimizer(module, plan),
        progress=progress,
        **more,
    )
    return module, progress


def same_weights(one: GraphVAEModule, other: GraphVAEModule) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def test_training_lowers_the_loss_and_evaluating_changes_nothing() -> None:
    module, subjects = single()
    before = copy_weights(module)
    first = run_epoch(module, subjects, PLAN, seeded())
    assert all(torch.equal(before[n], v) for n, v in module.state_dict().items())
    optimizer = make_optimizer(module, PLAN)
    for _ in range(20):
        run_epoch(module, subjects, PLAN, seeded(), optimizer)
    assert run_epoch(module, subjects, PLAN, seeded()).loss < first.loss


def test_the_terms_of_an_epoch_do_not_depend_on_the_batch_size() -> None:
    module, subjects = single(32)
    plan = dataclasses.replace(PLAN, invariance_weight=0.0)
    small, large = (
        run_epoch(module, subjects, dataclasses.replace(plan, batch_size=b), seeded())
        for b in (8, 32)
    )
    assert small.kl == pytest.approx(large.kl, rel=1e-5)
    assert small.nll == pytest.approx(large.nll, rel=0.05)  # the noise is drawn batch by batch
    assert small.active_units == large.active_units


def test_batches_are_as_equal_as_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    module, subjects = single(30)
    sizes: list[int] = []
    original = GraphVAEModule.loss

    def counted(self: GraphVAEModule, batch: Subjects, *rest: object) -> object:
        sizes.append(batch.number)
        return original(self, batch, *rest)

    monkeypatch.setattr(GraphVAEModule, "loss", counted)
    run_epoch(module, subjects, PLAN, seeded())
    assert sorted(sizes) == [7, 7, 8, 8]


def test_the_best_weights_are_kept() -> None:
    plan = dataclasses.replace(PLAN, learning_rate=0.2, max_epochs=8)
    module, progress = trained(plan)
    losses = [record.watched for record in progress.history]
    assert progress.best_loss == min(losses) < losses[-1]
    held_out = single()[1].take(torch.arange(24, 30))
    again = run_epoch(module, held_out, plan, seeded(2024))
    assert again.loss == progress.best_loss


def test_training_stops_when_nothing_improves_any_more() -> None:
    plan = dataclasses.replace(PLAN, learning_rate=1e-9, max_epochs=50, patience=3)
    _, progress = trained(plan)
    assert len(progress.history) == 4


def test_a_loss_that_is_not_finite_names_epoch_and_remedy_and_keeps_the_best_weights() -> None:
    module, subjects = single()
    progress = Progress(copy_weights(module))

    def poison(record: EpochRecord, _: Progress) -> None:
        if record.epoch == 2:
            subjects.counts.fill_(torch.inf)

    with pytest.raises(FitError, match=r"epoch 3.*no model.*learning_rate \(now 0.01\)"):
        train(
            module,
            subjects,
            None,
            PLAN,
            seeded(),
            optimizer=make_optimizer(module, PLAN),
            progress=progress,
            after_epoch=poison,
        )
    assert all(torch.equal(v, progress.best_weights[n]) for n, v in module.state_dict().items())
    assert all(torch.isfinite(v).all() for v in module.state_dict().values())


def test_clipping_bounds_the_gradient_of_a_step() -> None:
    module, subjects = single()
    optimizer = make_optimizer(module, PLAN)
    run_epoch(module, subjects, dataclasses.replace(PLAN, gradient_clip=1e-3), seeded(), optimizer)
    total = torch.stack([p.grad.norm() for p in module.parameters()]).norm()
    assert 0 < float(total) <= 1.001e-3


@pytest.mark.parametrize("stop", [1, 2, 5, 6])
def test_resuming_from_any_checkpoint_gives_the_bits_of_an_unbroken_run(
    stop: int, tmp_path: Path
) -> None:
    whole, whole_progress = trained()
    path = tmp_path / "run.safetensors"
    module, subjects = single()
    training, held_out = subjects.take(torch.arange(24)), subjects.take(torch.arange(24, 30))
    optimizer, generator = make_optimizer(module, PLAN), seeded(3)

    def keep(record: EpochRecord, progress: Progress) -> None:
        write_checkpoint(path, module, optimizer, generator, progress)
        if record.epoch == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(
            module,
            training,
            held_out,
            PLAN,
            generator,
            optimizer=optimizer,
            progress=Progress(copy_weights(module)),
            after_epoch=keep,
        )
    resumed = make_module().float()
    optimizer, generator = make_optimizer(resumed, PLAN), torch.Generator()
    progress = read_checkpoint(path, resumed, optimizer, generator)
    assert len(progress.history) == stop
    train(resumed, training, held_out, PLAN, generator, optimizer=optimizer, progress=progress)
    assert same_weights(whole, resumed)
    assert progress.history == whole_progress.history
    assert [p.name for p in tmp_path.iterdir()] == ["run.safetensors"]


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    module, _ = single()
    optimizer, generator = make_optimizer(module, PLAN), seeded()
    path = tmp_path / "run.safetensors"
    write_checkpoint(path, module, optimizer, generator, Progress(copy_weights(module)))
    whole = path.read_bytes()
    for damage in (b"", b"nonsense", whole[:200], whole[: len(whole) // 2]):
        path.write_bytes(damage)
        with pytest.raises(FileError, match=r"run\.safetensors.*checkpoint"):
            read_checkpoint(path, module, optimizer, generator)


def test_a_checkpoint_of_another_network_is_refused(tmp_path: Path) -> None:
    module, _ = single()
    path = tmp_path / "run.safetensors"
    optimizer = make_optimizer(module, PLAN)
    write_checkpoint(path, module, optimizer, seeded(), Progress(copy_weights(module)))
    other = make_module(k=5).float()
    with pytest.raises(FileError, match="damaged"):
        read_checkpoint(path, other, make_optimizer(other, PLAN), seeded())
