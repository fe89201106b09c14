"""Batches drawn ahead: the same numbers, at the same time as a step, and no thread afterwards."""

import signal
import subprocess
import sys
import textwrap
import threading
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from geodis import FactorGrid, models
from geodis.models import (
    TVAE,
    VAE,
    AdaGVAE,
    AdaTVAE,
    FactorVAE,
    MetricEncoder,
    TrainOptions,
    train_stacked,
)
from geodis.models.training import batches
from geodis.models.training.batches import DrawingThread, Prefetched, draws_ahead
from geodis.models.training.dataset_rows import Drawn
from tests.options import flat

stream_of = flat(batches.stream_of, TrainOptions)

train = flat(models.train, TrainOptions)
CPU = torch.device("cpu")
PATIENCE = 6  # seconds until what should have happened is missed; nothing takes as long
ROWS = np.random.default_rng(0).random((40, 36), dtype=np.float32)


def drawing_threads():
    return [each for each in threading.enumerate() if each.name == "geodis draws ahead"]


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    assert not drawing_threads()


@pytest.fixture
def thread():
    made = DrawingThread()
    yield made
    made.close()


CASES = {
    "rows of a grid": (lambda grid: FactorVAE(grid, 3, network="vector"), None),
    "pairs": (lambda grid: AdaGVAE(grid, 3, network="vector"), None),
    "triplets": (lambda grid: AdaTVAE(grid, 3, network="vector"), None),
    "an array": (lambda grid: VAE((36,), 3), ROWS),
    "a tuple of arrays": (lambda grid: AdaGVAE((36,), 3), (ROWS, ROWS + 0.1)),
    "labelled rows": (lambda grid: MetricEncoder((36,), 3), (ROWS, ROWS[:, :2])),
    "a tensor": (lambda grid: VAE((36,), 3), torch.from_numpy(ROWS)),
}
OPTIONS = {"batch_size": 16, "verbose": 0, "random_state": 3}


def same_weights(one, other):
    for name, value in one.state_dict().items():
        assert torch.equal(value, other.state_dict()[name]), name


@pytest.mark.parametrize("rows_on", ["host", "device"])
@pytest.mark.parametrize("case", CASES)
def test_who_draws_a_batch_changes_no_bit(case, rows_on, blobs, monkeypatch):
    make, data = CASES[case]
    data = blobs if data is None else data
    begun: list = []
    begin = DrawingThread.begin

    def counted(self, draw):
        begun.append(draw)
        return begin(self, draw)

    monkeypatch.setattr(DrawingThread, "begin", counted)
    told = {}
    for prefetch in ("never", "always"):
        assert not begun
        model = make(blobs)
        done = train(model, data, 12, prefetch=prefetch, rows_on=rows_on, **OPTIONS)
        told[prefetch] = done.history, model
    assert len(begun) == 11  # all but the first, and none beyond the last
    assert told["never"][0] == told["always"][0]
    same_weights(told["never"][1], told["always"][1])


@pytest.mark.parametrize("case", ["rows of a grid", "triplets", "an array"])
def test_a_run_goes_on_whoever_drew_its_batches(case, blobs, tmp_path):
    make, data = CASES[case]
    data = blobs if data is None else data
    whole = make(blobs)
    wanted = train(whole, data, 15, prefetch="never", **OPTIONS)

    def press(model):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(
            make(blobs),
            data,
            15,
            prefetch="always",
            checkpoint=tmp_path,
            callbacks={"press": press},
            callback_at=(7,),
            **OPTIONS,
        )
    assert not drawing_threads()
    resumed = make(blobs)
    done = train(resumed, data, 15, prefetch="always", checkpoint=tmp_path, **OPTIONS)
    same_weights(whole, resumed)
    assert [row for row in done.history if len(row) > 1] == wanted.history


def test_stacks_share_a_thread_and_change_no_bit(blobs):
    told = {}
    for prefetch in ("never", "always"):
        stack = [VAE(blobs, 2, network="vector", random_state=i) for i in range(3)]
        threads: list[int] = []
        options = TrainOptions(
            precision="float32",
            prefetch=prefetch,
            callbacks={"look": lambda model, seen=threads: seen.append(len(drawing_threads()))},
            callback_every=5,
        )
        done = train_stacked(stack, blobs, 12, batch_size=8, options=options, verbose=0)
        told[prefetch] = [each.history for each in done], stack
        assert set(threads) == {1 if prefetch == "always" else 0}
    assert told["never"][0] == told["always"][0]
    for one, other in zip(told["never"][1], told["always"][1], strict=True):
        same_weights(one, other)


# Where and when batches are drawn


def test_a_batch_is_drawn_while_a_step_is_taken():
    """Each waits for the other: neither would end if one came after the other."""
    meeting = threading.Barrier(2, timeout=PATIENCE)
    steps = 5

    class Slow(FactorGrid):
        drawn = 0

        def _draw(self, index):
            Slow.drawn += 1
            if Slow.drawn > 1:  # the first is drawn before the first step
                meeting.wait()
            return np.zeros((len(index), 2, 2, 1), np.uint8)

    class Meets(VAE):
        taken = 0

        def terms(self, batch):
            Meets.taken += 1
            if Meets.taken < steps:  # nothing is drawn beside the last step
                meeting.wait()
            return super().terms(batch)

    grid = Slow((7, 5), image_shape=(2, 2, 1))
    model = Meets(grid, 2, network="vector")
    train(model, grid, steps, batch_size=4, prefetch="always", rows_on="host", verbose=0)
    assert Slow.drawn == Meets.taken == steps


def test_callbacks_do_not_run_beside_a_draw(blobs):
    class Watched(FactorGrid):
        under_way = 0

        def _draw(self, index):
            Watched.under_way += 1
            begun.set()
            if threading.current_thread() is not threading.main_thread():
                called.wait(0.2)  # long enough for a callback that does not wait
            Watched.under_way -= 1
            return np.zeros((len(index), 2, 2, 1), np.uint8)

    begun, called, seen = threading.Event(), threading.Event(), []

    def look(model):
        assert begun.is_set()
        seen.append(Watched.under_way)
        called.set()

    grid = Watched((7, 5), image_shape=(2, 2, 1))
    model = VAE(grid, 2, network="vector")
    options = {"prefetch": "always", "rows_on": "host", "callbacks": {"look": look}}
    train(model, grid, 4, batch_size=4, callback_every=1, verbose=0, **options)
    assert seen == [0, 0, 0, 0]


def numbered(seed, step):
    return Drawn(torch.tensor([seed, step]), torch.tensor([step]))


def test_batches_may_be_asked_for_in_any_order(thread):
    stream = Prefetched(numbered, CPU, thread)
    for seed, step in [(0, 4), (0, 5), (0, 9), (1, 10), (1, 11), (1, 11), (0, 0)]:
        drawn = stream(seed, step)
        assert drawn.x.tolist() == [seed, step] and drawn.labels.tolist() == [step]


def test_a_batch_is_begun_before_it_is_asked_for_and_none_beyond_the_last(thread):
    drawn = {step: threading.Event() for step in range(4)}

    def draw(seed, step):
        drawn[step].set()
        return numbered(seed, step)

    stream = Prefetched(draw, CPU, thread, steps=3)
    for step in range(3):
        stream(0, step)
        assert step == 2 or drawn[step + 1].wait(PATIENCE)
    thread.settle()
    assert not drawn[3].is_set()


def test_which_batches_are_drawn_ahead(blobs, thread):
    images = blobs.images(range(40))
    rows = torch.from_numpy(images / np.float32(255)).permute(0, 3, 1, 2)
    vae, triplets = VAE(blobs, 2, network="vector"), TVAE(blobs, 2, network="vector")
    dataset = TensorDataset(rows)

    def ahead(model, data, prefetch="always", thread=thread, **options):
        stream = stream_of(model, data, batch_size=8, prefetch=prefetch, thread=thread, **options)[
            0
        ]
        return isinstance(stream, Prefetched)

    assert ahead(vae, blobs) and ahead(vae, images) and ahead(vae, rows)
    assert ahead(triplets, blobs) and ahead(triplets, (rows, rows, rows))
    # The model's own loss orders these, and a Dataset has an order and workers of its own.
    assert not ahead(triplets, blobs, supervision="perceived")
    assert not ahead(triplets, images, supervision="perceived")
    assert not ahead(vae, dataset) and not ahead(vae, DataLoader(dataset, batch_size=8))
    assert not ahead(vae, blobs, thread=None) and not ahead(vae, blobs, "never")
    assert not ahead(vae, blobs, "auto")  # nobody waits on the CPU
    # What lies on a device already is not drawn ahead unless somebody says so.
    gpu, apple = torch.device("cuda"), torch.device("mps")
    assert draws_ahead("auto", gpu, False) and not draws_ahead("auto", gpu, True)
    assert draws_ahead("always", gpu, True) and not draws_ahead("never", gpu, False)
    assert not draws_ahead("auto", apple, False) and not draws_ahead("always", apple, False)


# What goes wrong


@pytest.mark.parametrize("prefetch", ["never", "always"])
def test_an_error_in_a_draw_comes_at_its_step(prefetch):
    class Torn(FactorGrid):
        drawn = 0

        def _draw(self, index):
            Torn.drawn += 1
            if Torn.drawn == 4:
                raise OSError("the disk is gone")
            return np.zeros((len(index), 2, 2, 1), np.uint8)

    grid, steps = Torn((7, 5), image_shape=(2, 2, 1)), []
    options = {"callbacks": {"step": lambda model, terms: steps.append(terms["step"])}}
    options |= {"callback_every": 1, "prefetch": prefetch, "rows_on": "host"}
    with pytest.raises(OSError, match="the disk is gone"):
        train(VAE(grid, 2, network="vector"), grid, 9, batch_size=4, verbose=0, **options)
    assert steps == [0, 1, 2]
    assert not drawing_threads()


def test_an_error_of_a_batch_that_nobody_asks_for_is_nobodys(thread):
    def draw(seed, step):
        if step == 1:
            raise ZeroDivisionError
        return numbered(seed, step)

    stream = Prefetched(draw, CPU, thread)
    assert stream(0, 0).x.tolist() == [0, 0] and stream(0, 5).x.tolist() == [0, 5]
    stream(0, 0)
    with pytest.raises(ZeroDivisionError):
        stream(0, 1)
    assert stream(0, 2).x.tolist() == [0, 2]


class KilledError(RuntimeError):
    pass


@pytest.mark.parametrize("stacked", [False, True])
def test_no_thread_is_left_after_an_error_in_a_step(stacked, blobs):
    def fail(model):
        assert len(drawing_threads()) == 1
        raise KilledError

    options = TrainOptions(prefetch="always", callbacks={"fail": fail}, callback_every=3)
    model = VAE(blobs, 2, network="vector")
    call = train_stacked if stacked else models.train
    with pytest.raises(KilledError):
        call([model] if stacked else model, blobs, 9, batch_size=8, options=options, verbose=0)
    assert not drawing_threads()


def test_what_was_begun_is_given_up_when_the_thread_ends():
    go, at_it, drawn = threading.Event(), threading.Event(), []

    def slow():
        at_it.set()
        go.wait(PATIENCE)
        return draw(0)

    def draw(step):
        drawn.append(step)
        return numbered(0, step)

    thread = DrawingThread()
    first = thread.begin(slow)
    second = thread.begin(lambda: draw(1))
    assert at_it.wait(PATIENCE)
    closing = threading.Thread(target=thread.close)
    closing.start()
    assert thread._ended.wait(PATIENCE)
    go.set()
    closing.join(PATIENCE)
    assert not closing.is_alive() and not drawing_threads()
    assert drawn == [0] and first.done() and second.cancelled()
    thread.close()  # again, which does nothing
    assert thread.begin(lambda: numbered(0, 2)).result(PATIENCE).x.tolist() == [0, 2]
    thread.close()


SCRIPT = """
import threading
import torch
from geodis.models.training.dataset_rows import Drawn
from geodis.models.training.batches import DrawingThread, Prefetched


def draw(seed, step):
    if step == 1:
        threading.Event().wait()  # for ever
    return Drawn(torch.zeros(1))

Prefetched(draw, torch.device("cpu"), DrawingThread())(0, 0)
print("at the end")
"""


def test_a_thread_that_nobody_closed_does_not_keep_the_process():
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        capture_output=True,
        timeout=5 * PATIENCE,
        check=True,
        text=True,
    )
    assert ran.stdout == "at the end\n"


# On a GPU


class FakeStream:
    def __init__(self, calls, name):
        self.calls, self.name = calls, name

    def wait_stream(self, other):
        self.calls.append(f"{self.name} waits for {other.name}")


class FakeCuda:
    """Streams that note what is asked of them, each thread with a current one of its own."""

    def __init__(self):
        self.calls: list[str] = []
        self.local = threading.local()
        self.callers = FakeStream(self.calls, "the caller's")

    def Stream(self, device):  # noqa: N802 - as torch calls it
        return FakeStream(self.calls, "the thread's")

    def current_stream(self, device):
        assert device.type == "cuda"
        return getattr(self.local, "stream", self.callers)

    @contextmanager
    def stream(self, stream):
        self.local.stream = stream
        yield
        del self.local.stream


def test_a_gpu_copies_beside_the_step_which_waits_for_its_own_batch(monkeypatch, thread):
    cuda = FakeCuda()
    monkeypatch.setattr(torch, "cuda", cuda)

    class OnGpu:
        def __init__(self, name):
            self.name = name

        def record_stream(self, stream):
            cuda.calls.append(f"{self.name} is kept for {stream.name}")

    def draw(seed, step):
        cuda.calls.append(f"batch {step} on {cuda.current_stream(torch.device('cuda')).name}")
        return Drawn(OnGpu(f"batch {step}"), None if step == 1 else OnGpu(f"labels {step}"))

    stream = Prefetched(draw, torch.device("cuda"), thread, steps=3)
    for step in range(3):
        cuda.calls.append(f"step {step}")
        assert stream(0, step).x.name == f"batch {step}"
        thread.settle()
    assert cuda.calls == [
        "step 0",
        "batch 0 on the caller's",
        "the thread's waits for the caller's",  # once: rows that lie there are there by then
        "batch 1 on the thread's",
        "step 1",
        "the caller's waits for the thread's",
        "batch 1 is kept for the caller's",
        "batch 2 on the thread's",
        "step 2",
        "the caller's waits for the thread's",
        "batch 2 is kept for the caller's",
        "labels 2 is kept for the caller's",
    ]


def test_nothing_of_cuda_is_touched_without_it(monkeypatch, thread):
    monkeypatch.setattr(torch, "cuda", None)
    stream = Prefetched(numbered, CPU, thread)
    assert [stream(0, step).x.tolist() for step in range(3)] == [[0, 0], [0, 1], [0, 2]]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("rows_on", ["host", "device"])
def test_who_draws_a_batch_changes_no_bit_on_a_gpu(rows_on, blobs):
    told = {}
    for prefetch in ("never", "always", "auto"):
        model = AdaGVAE(blobs, 3, network="vector")
        options = {"device": "cuda", "prefetch": prefetch, "rows_on": rows_on}
        told[prefetch] = train(model, blobs, 50, **options, **OPTIONS).history
    assert told["never"] == told["always"] == told["auto"]
