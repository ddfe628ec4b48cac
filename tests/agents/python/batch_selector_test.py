import array
import json
import random
import unittest

import winnow

ALL = ["uniform", "big_loss", "small_loss", "grad_norm", "adaboost", "coreset1", "coreset2"]


def losses(n, seed=1):
    source = random.Random(seed)
    return [source.expovariate(1) for _ in range(n)]


class BatchSelector(unittest.TestCase):
    def test_keeps_the_share_it_was_asked_for(self):
        kept, step_after = winnow.BatchSelector(methods=["big_loss"], rate=0.25)([1.0, 4.0, 3.0, 2.0])
        self.assertEqual((kept, step_after), ([1], None))

    def test_a_step_is_due_when_kept_samples_fill_a_batch(self):
        selector = winnow.BatchSelector(methods=["big_loss"], rate=0.5, batch_size=4)
        steps = [selector([1.0, 2.0, 3.0]).step_after for _ in range(4)]  # two kept each time
        self.assertEqual(steps, [None, 2, None, 2])
        self.assertEqual(selector.carry, 0)

    def test_a_step_may_fall_within_the_kept_samples(self):
        selector = winnow.BatchSelector(methods=["big_loss"], rate=0.75, batch_size=4)
        self.assertEqual([selector(losses(4)).step_after for _ in range(3)], [None, 1, 2])
        self.assertEqual(selector.carry, 1)

    def test_every_method_works_alone_and_in_the_mix(self):
        grad = losses(32, seed=2)
        for methods in [[name] for name in ALL] + [ALL]:
            selector = winnow.BatchSelector(methods=methods, rate=0.3)
            for step in range(4):
                kept = selector(losses(32, seed=step), grad=grad).indices
                self.assertEqual(len(kept), 10)
                self.assertEqual(kept, sorted(set(kept)))
            self.assertAlmostEqual(sum(selector.detail("weights")), 1)

    def test_lists_arrays_and_single_precision_agree(self):
        exact = array.array("d", array.array("f", losses(64)))
        single = array.array("f", exact)
        select = lambda values: winnow.BatchSelector(methods=ALL[:3], seed=5)(values)
        self.assertEqual(select(exact), select(list(exact)))
        self.assertEqual(select(exact), select(single))
        self.assertEqual(select(exact), select(memoryview(single)))

    def test_the_same_seed_gives_the_same_run_and_another_does_not(self):
        run = lambda seed: [winnow.BatchSelector(seed=seed)(losses(64)).indices for _ in range(1)]
        self.assertEqual(run(3), run(3))
        self.assertNotEqual(run(3), run(4))

    def test_a_saved_state_goes_on_where_it_was(self):
        first = winnow.BatchSelector(methods=ALL, seed=7)
        for step in range(5):
            first(losses(40, step), grad=losses(40, step))
        state = json.loads(json.dumps(first.state_dict()))
        second = winnow.BatchSelector(methods=ALL, seed=7)
        second.load_state_dict(state)
        for step in range(5, 9):
            self.assertEqual(first(losses(40, step), grad=losses(40, step)), second(losses(40, step), grad=losses(40, step)))

    def test_a_state_of_another_selector_is_refused(self):
        state = winnow.BatchSelector(rate=0.3).state_dict()
        with self.assertRaisesRegex(winnow.PolicyError, "state must be one saved by"):
            winnow.BatchSelector(rate=0.4).load_state_dict(state)
        with self.assertRaisesRegex(winnow.PolicyError, "version of the state must be 1, got 9"):
            winnow.BatchSelector(rate=0.3).load_state_dict({**state, "version": 9})

    def test_biggest_loser_may_keep_nothing(self):
        selector = winnow.BatchSelector(policy="biggest_loser", window=8, beta=50.0, seed=1)
        selections = [selector([float(8 - i)]) for i in range(8)]
        self.assertIn(([], None), [tuple(one) for one in selections])

    def test_errors_name_the_field_and_the_accepted_range(self):
        def refused(sentence, make):
            with self.assertRaisesRegex(winnow.PolicyError, sentence):
                make()

        refused(r"rate must be in \(0, 1\], got 1.5", lambda: winnow.BatchSelector(rate=1.5))
        refused(r"methods must be one of uniform, .*, got \"huge_loss\"", lambda: winnow.BatchSelector(methods=["huge_loss"]))
        refused(r"methods must be different names .*, got uniform twice", lambda: winnow.BatchSelector(methods=["uniform"] * 2))
        refused(r"parameter of adaselection must be one of .*, got \"gama\"", lambda: winnow.BatchSelector(gama=1))
        refused(r"policy must be one of .*, got \"nothing\"", lambda: winnow.BatchSelector(policy="nothing"))
        refused(r"policy must be a selector, got \"iowa\"", lambda: winnow.BatchSelector(policy="iowa"))
        refused(r"loss must be at least 1 value, got an empty batch", lambda: winnow.BatchSelector()([]))
        refused(r"loss of sample 1 must be a finite number, got nan", lambda: winnow.BatchSelector()([0.5, float("nan")]))
        refused(r"loss must be at most 2 values, the nominal batch, got 3", lambda: winnow.BatchSelector(batch_size=2)([1.0, 2.0, 3.0]))
        refused(r"grad must have 2 values, got 0", lambda: winnow.BatchSelector(methods=["grad_norm"])([1.0, 2.0]))


class OtherPeoplesArrays(unittest.TestCase):
    def test_numpy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is not installed")
        values = numpy.asarray(losses(64))
        plain = winnow.BatchSelector(seed=2)(values.tolist())
        self.assertEqual(winnow.BatchSelector(seed=2)(values), plain)
        self.assertEqual(winnow.BatchSelector(seed=2)(numpy.repeat(values, 2)[::2]), plain)  # a strided view
        values.setflags(write=False)
        self.assertEqual(winnow.BatchSelector(seed=2)(values), plain)
        self.assertEqual(winnow.BatchSelector()(values.astype("f2")).indices, winnow.BatchSelector()(values.astype("f2").tolist()).indices)

    def test_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("torch is not installed")
        values = torch.tensor(losses(64), requires_grad=True)
        plain = winnow.BatchSelector(seed=2)(values.tolist())
        self.assertEqual(winnow.BatchSelector(seed=2)(values), plain)
        self.assertEqual(winnow.BatchSelector(seed=2)(values.double()), plain)
        half = values.detach().to(torch.bfloat16)
        self.assertEqual(winnow.BatchSelector(seed=2)(half), winnow.BatchSelector(seed=2)(half.tolist()))


if __name__ == "__main__":
    unittest.main()
