"""What makes a run the run it is: everything that changes its numbers, as plain values by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from geodis.base.check import InputError
from geodis.base.notes import note_entry
from geodis.base.write import to_jsonable
from geodis.models.model import Model
from geodis.models.training.state.code_fingerprints import code_fingerprint, has_own_code

# Raised when the same settings come to give other numbers.
FORMAT = 2

Identity = Mapping[str, Any]

# What cannot be told by its value, as it is told instead.
IN_WORDS = {
    "format": "by another version of geodis",
    "revision": "by another version of geodis",
    "data": "on other data",
    "items": "on other data",
    "weights": "from other initial weights, as of another random_state of the model, or of modules "
    "of your own that were built without torch.manual_seed",
    "own_loss": "with another loss of your own",
    "own_encoder": "with another encoder of your own",
    "own_decoder": "with another decoder of your own",
    "own_prior": "with another prior of your own",
    "own_class": "with other code of your own class",
}
OWN = tuple(key for key in IN_WORDS if key.startswith("own_"))
FROZEN = "frozen parameters"
# Keys that runs have only where there is something to tell.
WHERE_ANY = ("format", "revision", *OWN, FROZEN)
# Keys that checkpoints of before do not have: what these say is not known of them.
LATER = ("items", "data settings", "curves")
# Of a longer list of names so many are said.
MOST_NAMES = 4


def own_code_of(model: Model) -> dict[str, str]:
    """What of a model is the user's own code, by its key in the identity; nothing of most.

    Encoder, decoder and prior are told by their structure, for their tensors are weights.
    """
    told, config = {}, model.config()
    loss = getattr(model.settings, "loss", None)
    if callable(loss) and (config.get("loss") == "own" or has_own_code(type(loss))):
        told["own_loss"] = code_fingerprint(loss)
    for name, module in getattr(model, "own_networks", {}).items():
        told[f"own_{name}"] = code_fingerprint(module, weights=False)
    if config.get("prior") == "own" or has_own_code(type(model.prior)):
        told["own_prior"] = code_fingerprint(model.prior, weights=False)
    if has_own_code(type(model)):
        # With the classes of what it is built of.
        kinds = {type(each): None for each in model.modules() if has_own_code(type(each))}
        told["own_class"] = code_fingerprint(tuple(kinds))
    return told


def check_settings(model: Model, planned: Iterable[str]) -> None:
    """Refuse settings that are not those that a model was built with, by their names.

    Its configuration says those, and so does the identity of its run; what is `planned` is set at
    every step.
    """
    for name in sorted(model.chosen.keys() - set(planned)):
        chosen, now = model.chosen[name], getattr(model.settings, name, None)
        if now != chosen:
            raise InputError(
                f"{name} must be as the model was built, {chosen}; got {now}: build the model with "
                f"{name}={now}, or change it during training by schedules."
            )


def frozen_parameters(model: Model) -> list[str]:
    """Names of the parameters that do not learn, but for those of a loss, which never do."""
    # An adversary learns whatever its parameters say: its player has them.
    apart = {id(each) for each in model.adversary_parameters()}
    return sorted(
        name
        for name, each in model.named_parameters()
        if not each.requires_grad and id(each) not in apart and not name.startswith("loss_module.")
    )


def check_same_model(file: object, config: Mapping[str, Any], model: Model) -> None:
    """Refuse to go on with another model than the one that a checkpoint is of."""
    own = to_jsonable(model.config())
    name = config.get("model")
    if name != own["model"]:
        raise InputError(
            f"{file} is a checkpoint of {name}, and the model is {own['model']}: name another "
            "folder, or train that model on."
        )
    parts = ("settings", "options")
    pairs = {key: (config.get(key), own[key]) for key in own if key not in parts}
    for part in parts:
        former = note_entry(config, part, dict, str(file))
        names = dict.fromkeys((*own[part], *former))
        pairs |= {key: (former.get(key), own[part].get(key)) for key in names}
    for key, (before, now) in pairs.items():
        _check_equal(file, key, before, now)


def check_same_run(file: object, begun: Identity, now: Identity) -> None:
    """Refuse to go on with a value that would change the numbers, by its name."""
    # These first: an encoder of another kind has other weights too.
    given = {key: now.get(key) for key in WHERE_ANY} | to_jsonable(dict(now))
    for key, value in given.items():
        if key in LATER and key not in begun:
            continue
        before = begun.get(key)
        if isinstance(value, dict):
            former = before if isinstance(before, dict) else {}
            for part in sorted(value.keys() | former.keys()):
                _check_equal(file, f"{key} of {part}", former.get(part), value.get(part))
        else:
            _check_equal(file, key, before, value)


def _check_equal(file: object, key: str, before: Any, now: Any) -> None:
    if before == now:
        return
    if key in IN_WORDS:
        raise InputError(f"{file} was trained {IN_WORDS[key]}: name another folder.")
    raise InputError(
        f"{file} was trained with {key} = {_said(before)}; got {_said(now)}: a run goes on as it "
        "began, so name another folder."
    )


def _said(value: Any) -> Any:
    """A value as a message has it: of a long list of names the first."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return value
    more = len(value) - MOST_NAMES
    return ", ".join(value[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def horizon_of(
    asked: int | None,
    steps: int,
    planned: Mapping[str, Callable[[float], float]],
) -> int | None:
    """Steps over which schedules run: those asked for, or of the run; None without schedules."""
    if not planned:
        return None
    return steps if asked is None else asked
