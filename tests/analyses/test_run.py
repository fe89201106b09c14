"""The command line that analyses share: exit codes, options of their own, what was made."""

import pytest

from analyses.shared.run import main_of
from geodis.base.check import InputError

PRESETS = {"quick": 1, "paper": 2}


@pytest.mark.parametrize(
    ("outcome", "code", "told"),
    [
        (True, 0, ""),
        (False, 130, ""),
        (KeyboardInterrupt(), 130, "stopped; what is finished is written\n"),
        (InputError("no such file."), 2, "no such file.\n"),
    ],
)
def test_how_an_analysis_ended_is_its_exit_code(outcome, code, told, tmp_path, capsys):
    def run(preset, out):
        assert preset == "quick" and out == tmp_path
        (out / "results.md").touch()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    assert main_of("Title.\n\nMore.", PRESETS, tmp_path, run, []) == code
    printed = capsys.readouterr()
    assert printed.err == told and ("results.md" in printed.out) == (code != 2)


def test_an_analysis_has_options_of_its_own(tmp_path):
    seen = []

    def run(*given, **named):
        seen.append((given, named))
        return True

    def options(parser):
        parser.add_argument("--only")

    arguments = ["--preset", "paper", "--out", str(tmp_path / "none"), "--only", "a"]
    assert main_of(None, PRESETS, tmp_path, run, arguments, options) == 0
    assert seen == [(("paper", tmp_path / "none"), {"only": "a"})]


def test_an_unknown_preset_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main_of("Title.", PRESETS, tmp_path, lambda *_: True, ["--preset", "slow"])
    assert "quick" in capsys.readouterr().err


def test_results_of_one_preset_are_not_overwritten_by_another(tmp_path):
    seen = []

    def run(preset, out):
        seen.append(out)
        return True

    for arguments in ([], ["--preset", "paper"], ["--out", str(tmp_path / "other")]):
        assert main_of(None, PRESETS, tmp_path, run, arguments, preset_of_out="paper") == 0
    assert seen == [tmp_path / "quick", tmp_path, tmp_path / "other"]
