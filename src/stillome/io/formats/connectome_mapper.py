"""Connectome Mapper 3: one network as edge list, MAT file or GraphML (its pickles are refused)."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.formats.edge_lists import CMP3, edges_to_holding
from stillome.io.formats.text_matrix import is_number, to_number
from stillome.io.guarded_files import Item, parse_xml
from stillome.io.stacks import texts_of

PRODUCER = "Connectome Mapper 3 (MAT)"
GRAPHML = "Connectome Mapper 3 (GraphML)"
EDGE_LIST = CMP3
_COUNT = "number_of_fibers"


def from_mat(variables: dict[str, Any], item: Item) -> Contents | None:
    """Read the struct ``sc`` with one matrix per measure, and ``nodes.dn_name``."""
    measures, nodes = variables.get("sc"), variables.get("nodes")
    if not isinstance(measures, dict) or not isinstance(nodes, dict):
        return None
    names = nodes.get("dn_name", nodes.get("dn_fsname"))
    regions = None if names is None else texts_of(names, item.label)
    matrices = {
        name: value
        for name, value in measures.items()
        if isinstance(value, np.ndarray) and value.ndim == 2
    }
    for name, value in matrices.items():
        if regions is not None and len(regions) != len(value):
            raise FileError(f"{item.label}: {len(regions)} nodes for {len(value)} rows of {name}.")
    holdings = tuple(Holding(v, measure=name, regions=regions) for name, v in matrices.items())
    return Contents(PRODUCER, _counts_first(holdings)) if holdings else None


def recognises_graphml(item: Item, head: bytes) -> bool:
    """Whether this is GraphML."""
    return b"<graphml" in head


def read_graphml(item: Item) -> Contents:
    """Read nodes and edges with all numeric attributes of the edges.

    Raises
    ------
    FileError
        If the XML is damaged, or no attribute of the edges is a number.
    """
    root = parse_xml(item.data(), item.label)
    keys = {key.get("id"): key.get("attr.name") or "" for key in root.iter(_tag(root, "key"))}
    nodes: dict[str, str] = {}
    for node in root.iter(_tag(root, "node")):
        data = {keys.get(d.get("key"), ""): d.text or "" for d in node}
        identity = node.get("id") or ""
        nodes[identity] = data.get("dn_name") or data.get("dn_fsname") or identity
    pairs: list[tuple[str, str]] = []
    attributes: dict[str, list[str]] = {}
    for edge in root.iter(_tag(root, "edge")):
        for entry in edge:
            values = attributes.setdefault(keys.get(entry.get("key"), ""), [])
            values.extend(["nan"] * (len(pairs) - len(values)) + [(entry.text or "nan").strip()])
        pairs.append((edge.get("source") or "", edge.get("target") or ""))
    complete = {
        name: values
        for name, values in attributes.items()
        if len(values) == len(pairs) and all(is_number(value) for value in values)
    }
    if not complete or len(set(nodes.values())) != len(nodes):
        raise FileError(f"{item.label}: no network with numbers on its edges. Check the file.")
    named = [(nodes.get(a, a), nodes.get(b, b)) for a, b in pairs]
    holdings = tuple(
        edges_to_holding(
            named,
            np.array([to_number(value) for value in values]),
            measure=name,
            label=item.label,
            nodes=list(nodes.values()),
        )
        for name, values in complete.items()
    )
    return Contents(GRAPHML, _counts_first(holdings))


def write(path: Path, holding: Holding) -> None:
    """Write one matrix as ``sc.<measure>`` with ``nodes.dn_name``."""
    names = holding.regions or tuple(str(i + 1) for i in range(len(holding.values)))
    scipy.io.savemat(
        path,
        {
            "sc": {holding.measure: holding.values},
            "nodes": {"dn_name": np.array(names, dtype=object)},
        },
    )


def write_graphml(path: Path, holding: Holding) -> None:
    """Write one matrix as GraphML."""
    from xml.etree import ElementTree as Xml

    names = holding.regions or tuple(str(i + 1) for i in range(len(holding.values)))
    root = Xml.Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    for identity, target, name, kind in (
        ("d0", "node", "dn_name", "string"),
        ("d1", "edge", holding.measure, "double"),
    ):
        attributes = {"id": identity, "for": target, "attr.name": name, "attr.type": kind}
        Xml.SubElement(root, "key", attributes)
    graph = Xml.SubElement(root, "graph", edgedefault="undirected")
    for i, name in enumerate(names):
        node = Xml.SubElement(graph, "node", id=str(i + 1))
        Xml.SubElement(node, "data", key="d0").text = name
    matrix = np.asarray(holding.values)
    for i, j in zip(*np.nonzero(np.triu(matrix)), strict=True):
        edge = Xml.SubElement(graph, "edge", source=str(i + 1), target=str(j + 1))
        Xml.SubElement(edge, "data", key="d1").text = repr(float(matrix[i, j]))
    Xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _tag(root: Any, name: str) -> str:
    """Elements carry the namespace of the root."""
    space = root.tag.partition("}")[0] + "}" if "}" in root.tag else ""
    return f"{space}{name}"


def _counts_first(holdings: tuple[Holding, ...]) -> tuple[Holding, ...]:
    """With ``number_of_fibers`` there, only lengths are of use beside it."""
    counts = [h for h in holdings if h.measure == _COUNT]
    others = [h for h in holdings if h.measure != _COUNT]
    return (*counts, *others)
