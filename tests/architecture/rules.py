"""The rules of ARCHITECTURE.md as functions: each reads one thing and yields what is wrong with it."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from statistics import median
from typing import TypeAlias

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "telafi"

# A file above 250 lines or a module's registry needs its reason here.
LONG_FILES_ALLOWED: dict[str, str] = {}
REGISTRIES_ALLOWED: dict[str, str] = {
    "src/telafi/lock/descriptors.py": "fork hooks are process-wide and cannot be taken off: one serves every lock",
}

BANNED_MODULES = {"core", "common", "util", "utils", "helpers", "models", "manager", "misc"}
BANNED_WORDS = {"mgr", "cfg", "ctx", "tmp", "conn", "cur", "stmt", "util", "utils", "idx", "num", "cnt"}
CLOCK_CALLS = {
    "time": {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "sleep"},
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
    "asyncio": {"sleep"},
}
STEP_FOLDERS = ("src/telafi/ledger/", "src/telafi/work/")
CONTEXT_DECORATORS = {"contextmanager", "asynccontextmanager", "fixture"}

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One Python file: where it lies below the checkout, and its text."""

    path: str
    text: str

    @classmethod
    def read(cls, path: Path) -> "Source":
        return cls(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @property
    def functions(self) -> Iterator[Function]:
        return (node for node in self.nodes if isinstance(node, Function))

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())


Rule: TypeAlias = Callable[[Source], Iterator[str]]


# --------------------------------------------------------------------------------------------- one Python file


def file_length(source: Source) -> Iterator[str]:
    most = 400 if source.path in LONG_FILES_ALLOWED else 250
    if source.path == "src/telafi/app.py":
        most = 150  # it wires; verbs live on app.jobs, app.tasks, ...
    if source.lines > most:
        yield f"has {source.lines} lines, at most {most} are allowed"


def function_length(source: Source) -> Iterator[str]:
    for function in source.functions:
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > 50:
            yield f"line {function.lineno}: {function.name} has {lines} lines, at most 50 are allowed"


def public_methods(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.ClassDef):
            methods = {part.name for part in node.body if isinstance(part, Function) and not part.name.startswith("_")}
            if len(methods) > 12:
                yield f"line {node.lineno}: {node.name} has {len(methods)} public methods, at most 12 are allowed"


def module_name(source: Source) -> Iterator[str]:
    for part in PurePosixPath(source.path).with_suffix("").parts:
        if part in BANNED_MODULES:
            yield f"{part!r} says nothing: name the module by what happens in it"


def module_docstring(source: Source) -> Iterator[str]:
    first_line = (ast.get_docstring(source.tree) or "").partition("\n")[0]
    if not first_line.endswith("."):
        yield "needs a docstring whose first line is a sentence with its full stop"


def clock_read(source: Source) -> Iterator[str]:
    if source.path == "src/telafi/clock.py":
        return
    for node in source.nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=name) if (
                name in CLOCK_CALLS.get(owner, ())
            ):
                yield f"line {node.lineno}: {owner}.{name} reads a clock; take a Clock"
            case ast.ImportFrom(module="time" | "asyncio" as owner, names=names):
                for name in {alias.name for alias in names} & CLOCK_CALLS[owner]:
                    yield f"line {node.lineno}: {owner}.{name} reads a clock; take a Clock"


def module_registry(source: Source) -> Iterator[str]:
    if source.path in REGISTRIES_ALLOWED:
        return
    for node in source.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value:
                pass
            case _:
                continue
        if name != "__all__" and is_mutable(value) and (is_empty(value) or not name.isupper()):
            yield f"line {node.lineno}: {name} is a module's registry; hang it on Telafi(...) or make it a constant"


def is_mutable(value: ast.expr) -> bool:
    if isinstance(value, ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp):
        return True
    names = {"dict", "list", "set", "defaultdict", "deque", "OrderedDict", "Counter"}
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in names


def is_empty(value: ast.expr) -> bool:
    match value:
        case ast.Dict(keys=parts) | ast.List(elts=parts) | ast.Set(elts=parts) | ast.Call(args=parts, keywords=[]):
            return not parts
        case _:
            return False


def yield_outside_steps(source: Source) -> Iterator[str]:
    if source.path.startswith(STEP_FOLDERS):
        return
    for function in source.functions:
        if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function)) and not (
            {last_name(decorator) for decorator in function.decorator_list} & CONTEXT_DECORATORS
            or is_iterator(function)
        ):
            yield f"line {function.lineno}: {function.name} yields; steps live in ledger/ and work/ only"


def is_iterator(function: Function) -> bool:
    """Tell a plain iterator, which only gives, from steps, which also receive."""
    returns = function.returns
    named = returns.value if isinstance(returns, ast.Subscript) else returns
    return isinstance(named, ast.Name) and named.id in {"Iterator", "AsyncIterator"}


def own_nodes(function: Function) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))


def last_name(decorator: ast.expr) -> str:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")


def full_words(source: Source) -> Iterator[str]:
    for node in source.nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                pass
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                pass
            case _:
                continue
        for word in words(name) & BANNED_WORDS:
            yield f"line {getattr(node, 'lineno', '?')}: {name} says {word!r}; write the full word"


def words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def silenced_checks(source: Source) -> Iterator[str]:
    for number, line in enumerate(source.text.splitlines(), 1):
        if re.search(r"#\s*type:\s*ignore", line):
            yield f"line {number}: no `type: ignore` in the source; make the types true"
        if re.search(r"#\s*(ruff:\s*)?noqa", line) and not re.search(r"noqa: [A-Z0-9, ]+\W+\w+ \w+", line):
            yield f"line {number}: `noqa` needs its rule and a reason behind it"


FILE_RULES: tuple[Rule, ...] = (
    file_length,
    function_length,
    public_methods,
    module_name,
    module_docstring,
    clock_read,
    module_registry,
    yield_outside_steps,
    full_words,
    silenced_checks,
)


# ------------------------------------------------------------------------------------------------ many files


def median_length(sources: list[Source]) -> Iterator[str]:
    middle = median([source.lines for source in sources] or [0])
    if middle > 100:
        yield f"half of the files have more than {middle:.0f} lines, the median may be 100"


def folder_names(names: list[str]) -> Iterator[str]:
    for name in names:
        if name in BANNED_MODULES:
            yield f"folder {name!r} says nothing: name it by what happens in it"


def same_sql_files(dialects: dict[str, set[str]]) -> Iterator[str]:
    everything = set().union(*dialects.values())
    for dialect, names in dialects.items():
        for name in sorted(everything - names):
            yield f"{dialect} lacks {name}"


def one_statement(sql: str) -> Iterator[str]:
    literals = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|(\$\w*\$).*?\1|--[^\n]*|/\*.*?\*/"
    bare = re.sub(literals, lambda found: " " if found[0][:2] in {"--", "/*"} else "x", sql, flags=re.DOTALL)
    statements = [part for part in bare.split(";") if part.strip()]
    if len(statements) != 1:
        yield f"has {len(statements)} statements, must have one"


def addresses(text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(r"https?:|://|--(extra-)?index-url|--find-links|@ file", line):
            yield f"line {number}: {line.strip()}"


def unpinned(text: str) -> Iterator[str]:
    logical_lines = re.sub(r"\\\n", " ", text).splitlines()
    for line in logical_lines:
        if line.strip() and not line.lstrip().startswith("#") and not re.search(r"==\S+.*--hash=sha256:", line):
            yield f"{line.split()[0]} is not pinned with a hash"


def broken_links(page: Path) -> Iterator[str]:
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path = target.partition("#")[0]
        if path and not re.match(r"[a-z]+:", path) and not (page.parent / path).exists():
            yield f"links to {target}, which does not exist"


def public_names(actual: list[str], written: list[str]) -> Iterator[str]:
    for name in sorted(set(actual) - set(written)):
        yield f"{name} is public but not in tests/architecture/public_names.txt"
    for name in sorted(set(written) - set(actual)):
        yield f"{name} is in tests/architecture/public_names.txt but no longer public"
