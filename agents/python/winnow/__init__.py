"""Winnow's policies inside a training loop.

    sampler = winnow.Sampler(len(dataset), policy="iowa", seed=1)     # which samples an epoch trains
    loader = DataLoader(dataset, sampler=sampler, batch_size=128)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for indices, images, labels in loader:
            ...
            sampler.report(indices, loss=loss, p_target=p, p_other=q, correct=right)

`DistributedSampler` deals samples to the workers of a data-parallel job; `BatchSelector` chooses which samples of a
batch take part in the backward pass. numpy and torch are used if you pass their arrays, and never needed.
"""
from ._library import PolicyError, library_path, policies
from .batch_selector import BatchSelector, Selection
from .distributed import DistributedSampler
from .groups import Groups, coreset, perceptual_hash
from .sampler import Decision, Sampler

__version__ = "0.1.0"
__all__ = ["BatchSelector", "Decision", "DistributedSampler", "Groups", "PolicyError", "Sampler", "Selection",
           "coreset", "library_path", "perceptual_hash", "policies"]
