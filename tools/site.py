"""What the site is made of besides the pages in `docs/`: a hook of mkdocs (`make docs`).

Pages that are generated: one of the API for each module, the benchmarks, the change log. The page of the examples gets
their programs. What pages link to outside of `docs/` becomes the page that shows it, or just its name. Beside each page
lies its Markdown, and `llms.txt` lists them.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
EXAMPLES = ROOT / "examples"

INTERNAL = (
    "application",
    "calls",
    "cli",
    "compat",
    "console",
    "core",
    "replay",
    "runtime",
    "server",
    "plugins",
    "telemetry",
)
"""Packages that no program imports, but for what `PUBLIC` names of them."""
PUBLIC = (
    "antiphon.compat.livekit",
    "antiphon.console.access",
    "antiphon.console.mounted",
    "antiphon.server.entrypoint",
    "antiphon.server.job",
    "antiphon.server.room",
    "antiphon.telemetry",
    "antiphon.telemetry.ids",
    "antiphon.telemetry.prices",
    "antiphon.telemetry.telemetry",
)
_HIDDEN = ("antiphon.__main__", "antiphon.exports", "antiphon.visible", "antiphon.discovery", "antiphon.private")

_made: dict[str, str] = {}
"""The Markdown of the pages that are in no file, by path."""


def modules() -> list[str]:
    """All public modules, by name."""
    found = []
    for path in sorted((SOURCE / "antiphon").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        package = parts[1] if len(parts) > 2 else ""
        hidden = name in _HIDDEN or any(part.startswith("_") and part != "__init__" for part in parts)
        if name in PUBLIC or not (hidden or package in INTERNAL):
            found.append(name)
    return found


def _documented(name: str) -> tuple[str, bool]:
    """The first sentence about a module, and whether it defines anything public."""
    path = SOURCE.joinpath(*name.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    defines = any(
        isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_")
        for node in tree.body
    )
    return (ast.get_docstring(tree) or "").partition("\n")[0], defines


API_PAGE = """---
title: {name}
search:
  boost: 0.1
---

# `{name}`

::: {name}
    options:
      show_root_heading: false
"""
API_INDEX = """# Python API

All public modules. What `antiphon` itself exports is in the second table, with the module that it comes from:
`from antiphon import Agent`.

## Modules

| module | |
|---|---|
{modules}

## Names of `antiphon`

| name | module |
|---|---|
{names}
"""


def _api() -> dict[str, str]:
    """The reference: a page for each module that defines something, and a list of them."""
    about = {name: sentence for name in modules() for sentence, defines in [_documented(name)] if defines}
    pages = {f"api/{name}.md": API_PAGE.format(name=name) for name in about}
    rows = [f"| [`{name}`]({name}.md) | {sentence} |" for name, sentence in about.items()]
    names = [f"| `{name}` | [`{home}`]({home}.md) |" for name, home in _exported() if home in about]
    pages["api/index.md"] = API_INDEX.format(modules="\n".join(rows), names="\n".join(names))
    return pages


def _exported() -> list[tuple[str, str]]:
    tree = ast.parse((SOURCE / "antiphon" / "__init__.py").read_text(encoding="utf-8"))
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 0)
    found = {
        alias.name: node.module or ""
        for node in imports
        if (node.module or "").startswith("antiphon.") and node.module not in _HIDDEN
        for alias in node.names
    }
    return sorted(found.items())


def _programs() -> str:
    """The programs behind the page on the examples."""
    programs = [(path.name, path.read_text(encoding="utf-8")) for path in sorted(EXAMPLES.glob("*.py"))]
    return "\n# The programs\n" + "".join(f"\n## {name}\n\n```py\n{code}```\n" for name, code in programs)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and files that are not in `docs/`."""
    _made.clear()
    _made.update(_api())
    _made["benchmarks.md"] = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    _made["changelog.md"] = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for path, text in _made.items():
        files.append(File.generated(config, path, content=text))
    font = SOURCE / "antiphon" / "calls" / "inter.woff2"
    files.append(File.generated(config, "inter.woff2", content=font.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn links out of `docs/` into links to what the site has of it."""
    path = page.file.src_uri
    if path == "examples.md":
        markdown += _programs()
    if path == "benchmarks.md":
        markdown = markdown.replace("](../docs/", "](")
    markdown = markdown.replace("](docs/", "](").replace("](../benchmarks/README.md", "](benchmarks.md")
    if path in ("documents.md", "architecture.md", "changelog.md", "livekit.md"):
        page.meta["search"] = {"boost": 0.3}  # they have all words, and seldom the answer
    _made[path] = markdown
    # Files of the repository that are no pages: their names say enough.
    return re.sub(
        r"\[([^\]]+)\]\((?:\.\./)?(?:deploy|examples|tests|src|NOTICE)\b(?!\.md|\.html)[^)]*\)", r"\1", markdown
    )


def on_post_build(config: Any) -> None:
    """Lay the Markdown of each page beside it, and list them."""
    site = Path(config["site_dir"])
    listed = []
    for path, text in sorted(_made.items(), key=lambda page: (page[0].startswith("api/"), page[0])):
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(_plain(path, text), encoding="utf-8")
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        listed.append(f"- [{(title[1] if title else path).replace('`', '')}]({path})")
    head = f"# {config['site_name']}\n\n> {config['site_description']}\n\nEach page as Markdown:\n\n"
    (site / "llms.txt").write_text(head + "\n".join(listed) + "\n", encoding="utf-8")


def _plain(path: str, text: str) -> str:
    """A page as Markdown by itself: of a module, its source is what there is to read."""
    name = re.search(r"^::: (\S+)", text, re.MULTILINE)
    if not path.startswith("api/") or name is None:
        return text
    return f"# {name[1]}\n\n{_interface(name[1])}"


def _interface(name: str) -> str:
    """Signatures and docstrings of a module, as Python."""
    path = SOURCE.joinpath(*name.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    about = ast.get_docstring(tree) or ""
    kept = [node for node in tree.body if isinstance(node, _DEFINITIONS) and not node.name.startswith("_")]
    return f"{about}\n\n```py\n" + "\n\n".join(ast.unparse(_shown(node)) for node in kept) + "\n```\n"


_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _shown(node: Any) -> Any:
    """A definition without its code."""
    docstring = [ast.Expr(ast.Constant(ast.get_docstring(node)))] if ast.get_docstring(node) else []
    if isinstance(node, ast.ClassDef):
        inside = [_shown(one) for one in node.body if isinstance(one, _DEFINITIONS) and not one.name.startswith("_")]
        fields = [
            one for one in node.body if isinstance(one, ast.AnnAssign) and not ast.unparse(one.target).startswith("_")
        ]
        node.body = [*docstring, *fields, *inside] or [ast.Expr(ast.Constant(...))]
    else:
        node.body = docstring or [ast.Expr(ast.Constant(...))]
    return ast.fix_missing_locations(node)
