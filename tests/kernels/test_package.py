from geodis import kernels
from tests import ROOT

API = ROOT / "docs/pages/api.md"


def test_every_public_name_is_in_the_documentation():
    listed = set(API.read_text(encoding="utf-8").split())
    for name, home in kernels._HOME.items():
        module = f"geodis.kernels.{home}"
        assert module in listed or f"{module}.{name}" in listed, name
        assert callable(getattr(kernels, name))
