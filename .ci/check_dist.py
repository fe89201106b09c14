"""Whether what `make dist` built is whole.

The source distribution must hold every file that git tracks, the wheel every file of the package
and nothing beside it.
"""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(folder: Path) -> None:
    [archive], [wheel] = folder.glob("*.tar.gz"), folder.glob("*.whl")
    in_archive, in_wheel = names_in_archive(archive), names_in_wheel(wheel)
    package = package_files()
    report(archive, missing=(tracked_files() | package) - in_archive, stray=set())
    report(wheel, missing=package - in_wheel, stray=in_wheel - package)
    print(f"{archive.name}: {len(in_archive)} files; {wheel.name}: {len(in_wheel)} files")


def tracked_files() -> set[str]:
    """Files that git tracks and that are still there; none where there is no git."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    return {name for name in done.stdout.splitlines() if (ROOT / name).exists()}


def package_files() -> set[str]:
    """Files of the package as it lies there."""
    paths = (path for path in (ROOT / "geodis").rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT)) for path in paths if "__pycache__" not in path.parts}


def names_in_archive(path: Path) -> set[str]:
    """Files of a source distribution, relative to its one folder."""
    with tarfile.open(path) as archive:
        return {member.name.partition("/")[2] for member in archive if member.isfile()}


def names_in_wheel(path: Path) -> set[str]:
    """Files of a wheel, its metadata left out."""
    with zipfile.ZipFile(path) as wheel:
        return {name for name in wheel.namelist() if ".dist-info/" not in name}


def report(path: Path, missing: set[str], stray: set[str]) -> None:
    """End with a sentence when a distribution has too little or too much."""
    if missing or stray:
        sys.exit(
            f"{path.name} must hold what the repository has; "
            f"it lacks {sorted(missing) or 'nothing'} and has besides {sorted(stray) or 'nothing'}."
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
