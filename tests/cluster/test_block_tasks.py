"""Blocks as tasks of Dask: errors as one sentence, nothing inside of what is inside already."""

import gc
import os
import resource
import subprocess
import sys

import dask.array
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster
from threadpoolctl import threadpool_info

from stillome.cluster.block_tasks import MOST_BLOCKS, tasks_in_order
from stillome.cluster.engine import active_client, connected
from stillome.counts.block_plan import BlockPlan
from stillome.counts.edge_tables import EdgeTable
from stillome.counts.workers import in_order, on_a_cluster
from stillome.exceptions import ClusterError, ConfoundValueError, FileError, InputError
from stillome.run.parallel import run_jobs


def test_without_a_client_blocks_are_computed_here():
    assert active_client() is None
    assert set(in_order(lambda _: os.getpid(), range(5), shared=True)) == {os.getpid()}


def test_with_one_workers_compute_and_answers_come_in_order(client):
    pids = set(client.run(os.getpid).values())
    found = list(in_order(lambda number: (number, os.getpid()), range(100), shared=True))
    assert [number for number, _ in found] == list(range(100))
    assert {pid for _, pid in found} <= pids
    # What is not said to be shared stays here.
    assert set(in_order(lambda _: os.getpid(), range(5))) == {os.getpid()}


def test_a_block_of_a_block_is_computed_where_it_is_on_one_thread(client):
    def inside(number):
        threads = max((pool["num_threads"] for pool in threadpool_info()), default=1)
        inner = set(in_order(lambda _: os.getpid(), range(3), shared=True))
        return on_a_cluster(), inner == {os.getpid()}, threads

    assert set(tasks_in_order(client, inside, range(4))) == {(False, True, 1)}


def test_many_blocks_are_few_tasks(client):
    client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_log.clear())
    n_blocks = 200
    assert len(list(tasks_in_order(client, lambda block: block, range(n_blocks)))) == n_blocks
    keys = client.run_on_scheduler(
        lambda dask_scheduler: {line[0] for line in dask_scheduler.transition_log}
    )
    assert len([key for key in keys if key.startswith("_answers")]) == -(-n_blocks // MOST_BLOCKS)


def test_large_answers_come_in_files_that_are_gone_afterwards(client, shared):
    found = tasks_in_order(client, lambda number: np.full(10**5, number), range(20), most=1)
    assert [block.tolist() == [number] * 10**5 for number, block in enumerate(found)] == [True] * 20
    held = client.run(lambda dask_worker: max(map(np.size, dask_worker.data.values()), default=0))
    assert max(held.values()) <= 1
    gc.collect()
    assert list(shared.iterdir()) == []


def test_answers_that_are_not_waited_for_leave_nothing(client, shared):
    answers = tasks_in_order(client, lambda number: number, range(100), most=1)
    assert next(answers) == 0
    answers.close()
    gc.collect()
    assert list(shared.iterdir()) == []


def test_errors_of_a_block_arrive_as_they_were_raised(client):
    def refuse(number):
        raise ConfoundValueError(f"motion of subject {number} is missing.", row=number)

    with pytest.raises(ConfoundValueError, match=r"^motion of subject 0 is missing\.$") as said:
        list(tasks_in_order(client, refuse, range(3)))
    assert said.value.row == 0
    with pytest.raises(ZeroDivisionError):
        list(tasks_in_order(client, lambda number: 1 / number, [1, 0]))


def test_a_full_disk_of_a_worker_is_one_sentence(client, shared):
    counts = np.ones((500, 45), np.float32)

    def limit(n_bytes):
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))

    table = EdgeTable.of_blocks(
        counts.shape, lambda edges: counts[:, edges], BlockPlan(9, shared=True)
    )
    client.run(limit, 1000)
    try:
        with pytest.raises(FileError) as said:
            table.stored()
    finally:
        client.run(limit, resource.RLIM_INFINITY)
    sentence = str(said.value)
    assert sentence.startswith(f"{shared}: cannot be written to") and "\n" not in sentence
    del said
    gc.collect()  # an error and the frames in which the table is refer to each other
    assert list(shared.iterdir()) == []


def test_workers_that_die_over_every_block_are_one_sentence(client):
    def allow(number):
        client.run_on_scheduler(
            lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", number)
        )

    allow(0)
    try:
        with pytest.raises(ClusterError, match="died again and again"):
            list(tasks_in_order(client, lambda _: os._exit(1), [0]))
    finally:
        allow(3)


def test_a_scheduler_that_is_gone_is_one_sentence(shared):
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    )
    with cluster, Client(cluster, timeout=1) as client:
        answers = tasks_in_order(client, lambda number: number, range(100))
        assert next(answers) == 0
        cluster.close()
        with pytest.raises(ClusterError, match=r"connection to the scheduler .* is lost"):
            list(answers)


def test_a_cluster_that_is_not_there_is_one_sentence():
    said = r"^cluster='foo://1': no Dask scheduler answers there"
    with pytest.raises(InputError, match=said), connected("foo://1"):
        pass
    assert dask.array.ones(3).sum().compute() == 3  # by threads, as before


def test_jobs_of_joblib_go_to_the_workers(client):
    pids = set(client.run(os.getpid).values())
    assert set(run_jobs([os.getpid] * 4, n_jobs=2)) <= pids


def test_nothing_of_dask_is_imported_without_a_client():
    program = (
        "import sys, numpy as np; from stillome import InvFA; "
        "from stillome.counts.workers import in_order; "
        "list(in_order(abs, range(5), shared=True)); "
        "assert not {'dask', 'distributed'} & set(sys.modules)"
    )
    environment = os.environ | {"PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
