"""Model folders: what is kept, and what a damaged or foreign one is answered with."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as dump_arrays

from stillome.exceptions import FileError, NotFittedError
from stillome.methods import METHODS, make_method
from stillome.methods.graph_vae.gate import GATE
from stillome.methods.graph_vae.inv_vae import InvVAE
from stillome.methods.header_values import checksum
from stillome.methods.storage import (
    ModelState,
    StoredModel,
    load_model,
    read_model,
    training_hash,
    write_model,
)

QUICK = {"n_components": 2, "hidden": (4,), "n_dimensions": 2, "n_neighbors": 2}
pytestmark = pytest.mark.filterwarnings("ignore:The latent has collapsed")


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X = rng().poisson(5.0, (20, 6))
    model = GATE(**QUICK, max_epochs=1, lengths=rng().random((4, 4))).fit(X)
    return model.save(tmp_path_factory.mktemp("stored") / "model")


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    copied = tmp_path / "model"
    copied.mkdir()
    for file in saved.iterdir():
        (copied / file.name).write_bytes(file.read_bytes())
    return copied


def test_the_header_says_what_the_folder_is(saved: Path) -> None:
    header = json.loads((saved / "model.json").read_text())
    assert (header["format"], header["version"], header["class"]) == ("stillome-model", 3, "GATE")
    assert header["training_sha256"] == training_hash(rng().poisson(5.0, (20, 6)))
    assert {"python", "numpy", "torch", "stillome"} <= set(header["libraries"])
    assert sorted(file.name for file in saved.iterdir()) == ["arrays.safetensors", "model.json"]


def test_array_parameters_come_back(saved: Path) -> None:
    assert np.array_equal(GATE.load(saved).lengths, rng().random((4, 4)))


def test_what_is_no_plain_value_comes_back_as_its_default(tmp_path: Path) -> None:
    X = rng().poisson(5.0, (20, 6))
    seen: list[object] = []
    model = GATE(**QUICK, max_epochs=1, callback=seen.append, random_state=rng()).fit(X)
    loaded = GATE.load(model.save(tmp_path / "model"))
    assert loaded.callback is None
    assert loaded.random_state == 0
    assert len(seen) == 1


def test_a_model_is_not_replaced_unless_allowed(folder: Path) -> None:
    model = GATE.load(folder)
    with pytest.raises(FileError, match="exists already"):
        model.save(folder)
    model.save(folder, overwrite=True)
    assert np.array_equal(GATE.load(folder).lengths, model.lengths)


def test_nothing_fitted_nothing_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        GATE().save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="not a saved stillome model"):
        GATE.load(tmp_path / "nowhere")
    (tmp_path / "model.json").write_text('{"format": "recipe"}')
    with pytest.raises(FileError, match="not a saved stillome model"):
        GATE.load(tmp_path)


def test_a_later_version_asks_for_an_update(folder: Path) -> None:
    _edit(folder, version=4)
    with pytest.raises(FileError, match=r"model format 4.*Update stillome"):
        GATE.load(folder)


def test_missing_or_changed_arrays_are_noticed(folder: Path) -> None:
    arrays = folder / "arrays.safetensors"
    whole = bytearray(arrays.read_bytes())
    whole[-1] ^= 1
    arrays.write_bytes(whole)
    with pytest.raises(FileError, match="checksum"):
        GATE.load(folder)
    arrays.unlink()
    with pytest.raises(FileError, match="cannot be read"):
        GATE.load(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"state": {}},
        {"state": []},
        {"parameters": {"n_wings": 2}},
        {"parameters": None},
        {"arrays_sha256": None},
    ],
)
def test_an_edited_header_gives_one_sentence(folder: Path, change: dict) -> None:
    _edit(folder, **change)
    with pytest.raises(FileError, match=r"damaged"):
        GATE.load(folder)


@settings(max_examples=40)
@given(data=st.data())
def test_a_header_damaged_anywhere_never_escapes_as_another_error(
    saved: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    header = (saved / "model.json").read_bytes()
    place = data.draw(st.integers(0, len(header) - 1))
    damaged = header[:place] + data.draw(st.binary(min_size=0, max_size=3)) + header[place + 1 :]
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "arrays.safetensors").write_bytes((saved / "arrays.safetensors").read_bytes())
    (folder / "model.json").write_bytes(damaged)
    try:
        loaded = GATE.load(folder)
    except FileError as error:
        assert str(folder) in str(error)
    else:  # only blanks were changed
        assert isinstance(loaded, GATE) and json.loads(damaged) == json.loads(header)


def test_a_changed_parameter_is_noticed(folder: Path) -> None:
    header = json.loads((folder / "model.json").read_text())
    for name, value in header["parameters"].items():
        if isinstance(value, int):
            _edit(folder, parameters=header["parameters"] | {name: value + 1})
            with pytest.raises(FileError, match="was changed after the model was saved"):
                GATE.load(folder)


@pytest.mark.parametrize("change", ["shape", "dtype", "finite", "name", "one less"])
def test_arrays_are_those_the_header_tells_of(folder: Path, change: str) -> None:
    arrays = load_arrays((folder / "arrays.safetensors").read_bytes())
    name, values = next((n, v) for n, v in arrays.items() if v.dtype.kind == "f" and v.size > 1)
    others = {n: v for n, v in arrays.items() if n != name}
    changed = {
        "shape": {name: values.ravel()[:-1]},
        "dtype": {name: values.astype(np.float16)},
        "finite": {name: np.full_like(values, np.nan)},
        "name": {f"{name}.other": values},
        "one less": {},
    }[change]
    payload = dump_arrays(others | changed)
    (folder / "arrays.safetensors").write_bytes(payload)
    header = json.loads((folder / "model.json").read_text())
    header |= {"arrays_sha256": hashlib.sha256(payload).hexdigest()}
    _edit(folder, **header | {"header_sha256": checksum(header)})
    with pytest.raises(FileError, match="holds other arrays"):
        GATE.load(folder)


def test_any_method_can_be_kept(tmp_path: Path) -> None:
    values = {"names": ["a", "b"], "number": np.float64(0.5), "flag": np.bool_(True)}
    state = ModelState(values, {"weights": np.arange(6).reshape(2, 3).T})
    write_model(tmp_path / "model", StoredModel("Mean", {"rank": 3, "sizes": (1, 2)}, state))
    stored = read_model(tmp_path / "model")
    assert stored.class_name == "Mean"
    assert stored.parameters == {"rank": 3, "sizes": [1, 2]}
    assert stored.state.values == {"names": ["a", "b"], "number": 0.5, "flag": True}
    assert np.array_equal(stored.state.arrays["weights"], np.arange(6).reshape(2, 3).T)


N_SUBJECTS, N_EDGES = 48, 28


def _people() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts (n, E), two traits of which one is partly missing, and two confounds."""
    draw = rng()
    latent = draw.standard_normal((N_SUBJECTS, 3))
    confounds = draw.lognormal(-1, 0.5, (N_SUBJECTS, 2))
    level = draw.uniform(0, 4, N_EDGES) + 0.2 * latent @ draw.standard_normal((3, N_EDGES))
    counts = draw.poisson(np.exp(level - 0.5 * confounds[:, :1]))
    traits = latent[:, :2].copy()
    traits[:4, 1] = np.nan
    return counts, traits, confounds


@pytest.mark.parametrize("traits", ["two", "one", "none"])
@pytest.mark.parametrize("name", list(METHODS))
def test_every_method_comes_back_with_the_same_bits(name: str, traits: str, tmp_path: Path) -> None:
    X, y, confounds = _people()
    target = {"two": y[:40], "one": y[:40, 0], "none": None}[traits]
    quick = {"max_epochs": 2} if "max_epochs" in make_method(name).get_params() else {}
    model = make_method(name, n_components=4, **quick).fit(X[:40], target, confounds=confounds[:40])
    loaded = load_model(model.save(tmp_path / "model"))
    assert type(loaded) is type(model)
    answers = ("transform", "adjust") if target is None else ("transform", "adjust", "predict")
    for answer in answers:
        expected = getattr(model, answer)(X[40:], confounds=confounds[40:])
        found = getattr(loaded, answer)(X[40:], confounds=confounds[40:])
        assert np.array_equal(found, expected), answer
    header = json.loads((tmp_path / "model" / "model.json").read_text())
    assert header["training_sha256"] == training_hash(X[:40])
    again = load_model(loaded.save(tmp_path / "again"))
    assert np.array_equal(
        again.transform(X, confounds=confounds), model.transform(X, confounds=confounds)
    )


@pytest.mark.parametrize("name", ["combat", "edgewise", "pca-regression", "inv-fa"])
def test_what_was_kept_is_kept_in_the_model_that_comes_back(name: str, tmp_path: Path) -> None:
    X, _, confounds = _people()
    model = make_method(name, n_components=4)
    model.fit(X[:40], confounds=confounds[:40, 0], covariates_to_keep=confounds[:40, 1])
    loaded = load_model(model.save(tmp_path / "model"))
    given = {"confounds": confounds[40:, 0], "reference": 0.5}
    assert np.array_equal(loaded.adjust(X[40:], **given), model.adjust(X[40:], **given))


def test_the_published_model_is_loaded_by_its_name_too(tmp_path: Path) -> None:
    X, _, confounds = _people()
    model = InvVAE.as_published(n_components=2, max_epochs=1).fit(X, confounds=confounds)
    loaded = load_model(model.save(tmp_path / "model"))
    assert type(loaded).__name__ == "InvVAE"
    assert np.array_equal(loaded.transform(X), model.transform(X))


@pytest.mark.parametrize("name", ["Mean", "os.system", "InvFA.fit", "", "Storable", "None"])
def test_a_class_that_is_no_method_is_never_looked_for(name: str, tmp_path: Path) -> None:
    write_model(tmp_path / "model", StoredModel(name, {}, ModelState({}, {})))
    with pytest.raises(FileError, match="does not know"):
        load_model(tmp_path / "model")


@pytest.mark.parametrize("name", list(METHODS))
def test_a_model_with_parts_missing_is_damaged(name: str, tmp_path: Path) -> None:
    class_name = METHODS[name].__name__
    write_model(tmp_path / "model", StoredModel(class_name, {}, ModelState({}, {})))
    with pytest.raises(FileError, match="damaged"):
        load_model(tmp_path / "model")


def _edit(folder: Path, **change: object) -> None:
    header = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(header | change))
