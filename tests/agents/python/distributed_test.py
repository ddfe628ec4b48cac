import json
import subprocess
import sys
import tempfile
import threading
import unittest

import winnow


class Meeting:
    """An exchange between threads: everyone leaves with everyone's bytes."""

    def __init__(self, workers):
        self.barrier = threading.Barrier(workers)
        self.payloads = [None] * workers

    def of(self, rank):
        def exchange(payload):
            self.payloads[rank] = payload
            self.barrier.wait()
            everyone = list(self.payloads)
            self.barrier.wait()
            return everyone
        return exchange


def run_workers(workers, epochs, **arguments):
    """Per rank, the orders of all epochs; losses depend on the sample alone."""
    meeting = Meeting(workers)
    orders = [[] for _ in range(workers)]

    def work(rank):
        sampler = winnow.DistributedSampler(20, workers, rank, exchange=meeting.of(rank), **arguments)
        for epoch in range(epochs):
            sampler.set_epoch(epoch)
            ids = list(sampler)
            orders[rank].append(ids)
            sampler.report(ids, loss=[float(i) for i in ids])

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return orders


class DistributedSampler(unittest.TestCase):
    def test_the_parts_of_every_epoch_cover_the_data(self):
        orders = run_workers(4, 5, warmup_epochs=2, ignore_epochs=1, interval_epochs=2, seed=1)
        for epoch in range(5):
            together = [i for worker in orders for i in worker[epoch]]
            self.assertEqual(sorted(together), list(range(20)))

    def test_after_the_warm_up_stripes_share_out_the_importance(self):
        orders = run_workers(4, 4, warmup_epochs=2, ignore_epochs=1, interval_epochs=2, seed=1)
        for rank in range(4):
            self.assertEqual(sorted(orders[rank][2]), [3 - rank + 4 * i for i in range(5)])
            self.assertEqual(sorted(orders[rank][2]), sorted(orders[rank][3]))
        self.assertNotEqual(orders[0][2], orders[0][3])  # another order every epoch

    def test_blocks_give_the_first_worker_the_most_important(self):
        orders = run_workers(4, 3, layout="blocks", warmup_epochs=2, ignore_epochs=1, seed=1)
        self.assertEqual([sorted(worker[2]) for worker in orders],
                         [[15, 16, 17, 18, 19], [10, 11, 12, 13, 14], [5, 6, 7, 8, 9], [0, 1, 2, 3, 4]])

    def test_parts_are_made_equally_long(self):
        length = lambda **more: [len(winnow.DistributedSampler(10, 4, rank, **more)) for rank in range(4)]
        self.assertEqual(length(), [3, 3, 3, 3])
        self.assertEqual(length(drop_last=True), [2, 2, 2, 2])

    def test_any_sampler_can_be_dealt_out(self):
        parts = [list(winnow.DistributedSampler(12, 3, rank, policy="uniform", seed=2)) for rank in range(3)]
        self.assertEqual(sorted(i for part in parts for i in part), list(range(12)))

    def test_facts_that_cannot_be_exchanged_are_an_error(self):
        sampler = winnow.DistributedSampler(10, 2, 0)
        sampler.set_epoch(0)
        list(sampler)
        sampler.report([1], loss=[0.5])
        with self.assertRaisesRegex(winnow.PolicyError, "exchange must be given"):
            sampler.set_epoch(1)

    def test_bad_facts_are_refused_when_they_are_reported(self):
        with self.assertRaisesRegex(winnow.PolicyError, "loss of sample 1 must be a finite number, got inf"):
            winnow.DistributedSampler(10, 2, 0).report([1], loss=[float("inf")])

    def test_errors_name_the_field_and_the_accepted_range(self):
        def refused(sentence, *arguments, **more):
            with self.assertRaisesRegex(winnow.PolicyError, sentence):
                winnow.DistributedSampler(*arguments, **more)

        refused(r"num_replicas must be an integer in \[1, 10\], the number of samples, got 0", 10, 0, 0)
        refused(r"num_replicas must be an integer in \[1, 10\], the number of samples, got 11", 10, 11, 0)
        refused(r"rank must be in \[0, 2\), got 2", 10, 2, 2)
        refused(r"num_replicas and rank must be given", 10)
        refused(r"warmup_epochs must be more than ignore_epochs \(5\), got 5", 10, 2, 0, warmup_epochs=5)

    def test_torch_distributed_is_used_where_it_is_initialised(self):
        try:
            import torch.distributed as distributed
        except ImportError:
            self.skipTest("torch is not installed")
        if not distributed.is_available():
            self.skipTest("this torch has no torch.distributed")
        with tempfile.TemporaryDirectory() as folder:
            workers = [subprocess.Popen([sys.executable, "-c", WORKER, folder, str(rank)], stdout=subprocess.PIPE, text=True)
                       for rank in range(2)]
            orders = [json.loads(worker.communicate(timeout=120)[0]) for worker in workers]
        for epoch in range(3):
            self.assertEqual(sorted(orders[0][epoch] + orders[1][epoch]), list(range(10)))
        # Losses rise with the id, so the second half is worker 0's once both know all of them.
        self.assertEqual(sorted(orders[0][2]), [5, 6, 7, 8, 9])


# Two processes that meet through a file; facts differ in length between them.
WORKER = """
import json, sys
import torch.distributed as distributed
import winnow
distributed.init_process_group("gloo", init_method=f"file://{sys.argv[1]}/meet", rank=int(sys.argv[2]), world_size=2)
sampler = winnow.DistributedSampler(10, layout="blocks", warmup_epochs=2, ignore_epochs=1, seed=3)
orders = []
for epoch in range(3):
    sampler.set_epoch(epoch)
    orders.append(list(sampler))
    for index in orders[-1]:
        sampler.report([index], loss=[float(index)])
    if sampler.rank == 0:
        sampler.report([], loss=[])
sampler.end_epoch()
print(json.dumps(orders))
"""


if __name__ == "__main__":
    unittest.main()
