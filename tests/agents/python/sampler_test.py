import json
import unittest

import winnow


def train(sampler, epochs, first=0):
    """Trains `epochs` epochs with facts that depend on sample and epoch alone; gives back their orders."""
    orders = []
    for epoch in range(first, first + epochs):
        sampler.set_epoch(epoch)
        ids = list(sampler)
        sampler.report(ids, loss=[((i * 37 + epoch * 11) % 101) / 50 for i in ids],
                       p_target=[((i * 53 + epoch * 7 + place) % 97) / 100 for place, i in enumerate(ids)], p_other=[0.02] * len(ids),
                       correct=[i % 3 != 0 for i in ids])
        orders.append(ids)
    return orders


class Sampler(unittest.TestCase):
    def test_every_sampler_can_be_used_like_torchs(self):
        for policy in winnow.policies():
            if policy["kind"] not in ("sampler", "partition"):
                continue
            sampler = winnow.Sampler(range(50), policy["name"], seed=1)
            orders = train(sampler, 5)
            self.assertEqual(len(orders[0]), 50)
            self.assertTrue(all(0 <= i < 50 for order in orders for i in order))
            sampler.set_epoch(5)
            self.assertEqual(len(sampler), len(list(sampler)))

    def test_without_set_epoch_every_iteration_is_an_epoch(self):
        counted, told = winnow.Sampler(30, "uniform", seed=4), winnow.Sampler(30, "uniform", seed=4)
        for epoch in range(3):
            told.set_epoch(epoch)
            self.assertEqual(list(counted), list(told))

    def test_an_epoch_may_be_iterated_again(self):
        sampler = winnow.Sampler(30, "uniform", seed=4)
        sampler.set_epoch(2)
        self.assertEqual(list(sampler), list(sampler))

    def test_iowa_lets_unimportant_samples_wait_and_recalls_them(self):
        sampler = winnow.Sampler(100, "iowa", seed=1, gamma=1.0, min_in_process=0.2, k=2)
        seen_waiting = seen_recall = False
        for epoch in range(12):
            train(sampler, 1, epoch)
            decision = sampler.end_epoch()
            self.assertEqual(decision.in_process + decision.waiting, 100)
            self.assertEqual(len(sampler.waiting()), decision.waiting)
            self.assertGreaterEqual(decision.in_process, 20)
            seen_waiting |= decision.waiting > 0
            seen_recall |= bool(decision.recalled)
        self.assertTrue(seen_waiting and seen_recall)

    def test_the_workload_decides_which_criteria_vote(self):
        sampler = winnow.Sampler(10, "iowa", profile_epochs=1)
        train(sampler, 1)
        sampler.profile(io_wait=9.0, compute=1.0)
        decision = sampler.end_epoch()
        self.assertEqual((list(decision.thresholds), decision.stall, decision.io_bound), (["entropy", "margin", "io"], 0.9, True))

    def test_a_state_loads_on_another_machine(self):
        first = winnow.Sampler(60, "iowa", seed=9, gamma=0.9, cross_entropy=True)
        train(first, 4)
        state = json.loads(json.dumps(first.state_dict()))
        second = winnow.Sampler(60, "iowa", seed=9, gamma=0.9, cross_entropy=True)
        second.load_state_dict(state)
        self.assertEqual(train(first, 6, first=4), train(second, 6, first=4))
        self.assertEqual(first.waiting(), second.waiting())

    def test_a_state_of_another_kind_is_refused_and_nothing_changes(self):
        sampler = winnow.Sampler(60, "iowa", seed=9)
        before = train(sampler, 3)
        for other, sentence in ((winnow.Sampler(60, "uniform"), "saved by iowa"), (winnow.Sampler(61, "iowa", seed=9), "of 60 samples")):
            with self.assertRaisesRegex(winnow.PolicyError, sentence):
                sampler.load_state_dict(other.state_dict())
        cut = sampler.state_dict()
        cut["state"] = cut["state"][:400]
        with self.assertRaisesRegex(winnow.PolicyError, "state must be as long as it was saved"):
            sampler.load_state_dict(cut)
        again = winnow.Sampler(60, "iowa", seed=9)
        self.assertEqual(train(again, 3), before)
        self.assertEqual(train(again, 2, first=3), train(sampler, 2, first=3))

    def test_groups_drop_near_duplicates_from_an_epoch(self):
        groups = winnow.Groups([0, 1, 2**40 - 1, 3], [0, 0, 0, 0])
        sampler = winnow.Sampler(4, "iowa", variant="random+rremove", groups=groups)
        order = list(sampler)
        self.assertEqual(len(order), 2)
        self.assertIn(2, order)

    def test_groups_replace_what_is_not_cached(self):
        groups = winnow.Groups([0, 1, 2**40 - 1, 3], [0, 0, 0, 0])
        sampler = winnow.Sampler(4, "iowa", variant="random+rrepeat", groups=groups)
        sampler.set_cached([1])
        self.assertEqual(sorted(sampler), [1, 1, 1, 2])
        self.assertEqual(groups.rrepeat([0, 3, 2], [False, True, False, False]), [1, 1, 2])

    def test_errors_name_the_field_and_the_accepted_range(self):
        def refused(sentence, make, sample=-1):
            with self.assertRaisesRegex(winnow.PolicyError, sentence) as caught:
                make()
            self.assertEqual(caught.exception.sample, sample)

        sampler = winnow.Sampler(10, "iowa", cross_entropy=True)
        refused(r"samples must be a finite number of at least 1, got 0", lambda: winnow.Sampler(0))
        refused(r"variant must be one of norecall, .*, got \"most\"", lambda: winnow.Sampler(9, variant="most"))
        refused(r"recall_fraction must be in \(0, 1\], got 0", lambda: winnow.Sampler(9, recall_fraction=0.0))
        refused(r"loss of sample 3 must be .* got nan", lambda: sampler.report([2, 3], loss=[0.1, float("nan")]), 3)
        refused(r"loss of sample 2 must be a finite number of at least 0, got -1", lambda: sampler.report([2], loss=[-1.0]), 2)
        refused(r"size of sample 4 must be .* at least 0, got -5", lambda: sampler.report([4], size=[-5.0]), 4)
        refused(r"p_target of sample 4 must be in \[0, 1\], got 1.5", lambda: sampler.report([4], p_target=[1.5]), 4)
        refused(r"p_target \+ p_other of sample 1 must be at most 1", lambda: sampler.report([1], p_target=[0.9], p_other=[0.2]), 1)
        refused(r"loss must have 2 values, got 1", lambda: sampler.report([0, 1], loss=[0.1]))
        refused(r"correct must have 2 values, got 1", lambda: sampler.report([0, 1], correct=[True]))
        refused(r"id must be in \[0, 10\), got 10", lambda: sampler.report([10], loss=[0.1]))
        refused(r"groups must be given with the variant random\+rremove, got none", lambda: len(winnow.Sampler(9, variant="random+rremove")))
        refused(r"io_wait must be a finite number of at least 0, got -1", lambda: sampler.profile(io_wait=-1))

    def test_a_refused_report_changes_nothing(self):
        clean, tried = winnow.Sampler(8, "online", epochs=3), winnow.Sampler(8, "online", epochs=3)
        with self.assertRaises(winnow.PolicyError):
            tried.report([0, 1], loss=[5.0, float("inf")])
        self.assertEqual(clean.state_dict(), tried.state_dict())


class Functions(unittest.TestCase):
    def test_the_hash_of_a_flat_image_is_flat(self):
        self.assertEqual(winnow.perceptual_hash(bytes([128] * 1024)), (0, True))
        self.assertEqual(winnow.perceptual_hash(bytes([0] * 16 + [255] * 16) * 32), (0x88, False))
        with self.assertRaisesRegex(winnow.PolicyError, "luma must have 1024 values, got 3"):
            winnow.perceptual_hash(bytes(3))

    def test_the_coreset_is_the_most_uncertain(self):
        self.assertEqual(winnow.coreset([[0.5, 0.5], [0.9, 0.1], [0.6, 0.4]], fraction=0.5, uncertainty="margin"), [0, 2])
        with self.assertRaisesRegex(winnow.PolicyError, r"fraction must be in \(0, 1\]"):
            winnow.coreset([[0.5, 0.5]], fraction=0)

    def test_every_policy_is_described(self):
        for policy in winnow.policies():
            for field in ("name", "kind", "summary", "paper"):
                self.assertTrue(policy[field], policy)


class Torch(unittest.TestCase):
    def setUp(self):
        try:
            import torch
        except ImportError:
            self.skipTest("torch is not installed")
        self.torch = torch

    def test_a_data_loader_takes_the_sampler_and_the_report_its_tensors(self):
        data = self.torch.utils.data.TensorDataset(self.torch.arange(40))
        sampler = winnow.Sampler(data, "iowa", seed=2, profile_epochs=1)
        loader = self.torch.utils.data.DataLoader(data, sampler=sampler, batch_size=8)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            seen = []
            for (ids,) in loader:
                seen += ids.tolist()
                p = self.torch.softmax(self.torch.stack([ids.float() / 40, 1 - ids.float() / 40], 1), 1)
                sampler.report(ids, loss=-p[:, 0].log(), p_target=p[:, 0], p_other=p[:, 1], correct=p[:, 0] > p[:, 1])
            self.assertEqual(len(seen), len(sampler))

    def test_torch_saves_and_loads_the_state(self):
        import io
        sampler, other = winnow.Sampler(40, "iowa", seed=2), winnow.Sampler(40, "iowa", seed=2)
        train(sampler, 4)
        file = io.BytesIO()
        self.torch.save(sampler.state_dict(), file)
        file.seek(0)
        other.load_state_dict(self.torch.load(file))
        self.assertEqual(train(sampler, 2, 4), train(other, 2, 4))


if __name__ == "__main__":
    unittest.main()
