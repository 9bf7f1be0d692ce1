"""The command `opscope torch`: starts a program and watches it, with nothing changed in it."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

__all__ = ["main"]

INCOMPLETE = 3
FOUND = 1
WRONG_USE = 2
CANNOT_ATTACH = 1


_FOLDERS = {"dump": "dump", "profile": "profiler"}

# How long the program waits for the prompt, in seconds.
_PATIENCE = "60"


def main(words: Sequence[str]) -> int:
    """Runs the command with these words, and returns its exit code."""
    options, program = _parse(words)
    acl_json: list[str] | None = None
    if options.what in _FOLDERS:
        root = Path(options.output or "out") / _FOLDERS[options.what] / options.output_dirname
        if options.what == "dump" and options.acl_json_path is not None:
            read = _read_acl_json(options)
            if read is None:
                return WRONG_USE
            root, acl_json = read
        problem = _prepare(root, options.overwrite)
        if problem is not None:
            _tell(problem)
            return WRONG_USE
    else:
        root = None
    with tempfile.TemporaryDirectory(prefix="opscope-torch-") as scratch:
        notes = Path(scratch) / "notes"
        notes.mkdir()
        request = _request(options, root, acl_json, Path(scratch), notes)
        if options.attach is not None:
            return _attach(options, request, notes)
        environment = _environment(options, request, Path(scratch))
        prompt = _Prompt(options, _socket(options, Path(scratch))) if options.what == "debug" and options.debug_server is None else None
        try:
            code = _run(program, environment, prompt)
        except OSError as error:
            _tell(f"{program[0]} could not be started: {error}")
            return WRONG_USE
        processes = _processes(notes)
    return _finish(options, code, processes) or (prompt.code if prompt is not None else 0)


def _usage(what: str) -> str:
    return f"opscope torch {what} [options] -- PROGRAM ...\n       opscope torch {what} --attach PID [options]"


def _parse(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog="opscope torch",
        description="Watches a PyTorch program, with nothing changed in it. Its output, exit code and signals stay as they are.",
        epilog="docs/torch.md describes what is captured, and how operators are named.",
    )
    commands = parser.add_subparsers(dest="what", required=True, metavar="dump|watch|profile|debug")
    dump = commands.add_parser("dump", usage=_usage("dump"), help="write what operators or modules compute into a directory")
    profile = commands.add_parser("profile", usage=_usage("profile"), help="record when operators or modules are executed")
    for command in (dump, profile):
        folder = "OUTPUT/dump" if command is dump else "OUTPUT/profiler"
        command.add_argument("--output", metavar="DIRECTORY", help="the directory for results (default: out)")
        command.add_argument(
            "--output-dirname", default=time.strftime("%Y%m%d-%H%M%S"), metavar="NAME", help=f"the name of the result in {folder} (default: date and time)"
        )
        command.add_argument("--overwrite", action="store_true", help="replace a result of that name")
    profile.add_argument(
        "--tool", action="append", default=[], metavar="LIBRARY", help="a tool for rocprofiler-sdk that gets the same times, such as ./libclient.so"
    )
    profile.add_argument("--level", choices=["module", "op"], default="module", help="the times of modules (default), or of every operator")
    dump.add_argument("--level", choices=["module", "op"], help="the outputs of modules (default), or of every operator")
    dump.add_argument("--backward", action="store_true", help="gradients as well: of modules' outputs, or all operators of autograd and optimizers")
    dump.add_argument("--select", action="append", default=[], metavar="PATTERN", help="only operators or modules with such a name, such as 'layers.[0-3]*'")
    dump.add_argument("--statistics", action="store_true", help="only the statistics of the tensors")
    dump.add_argument("--acl-json-path", metavar="FILE", help="dump as AscendCL's configuration file says, into the directory that it names, in AscendCL's files")
    watch = commands.add_parser("watch", usage=_usage("watch"), help="stop at the first NaN")
    watch.add_argument("--nonfinite", choices=["nan", "any"], default="nan", help="stop at NaN (default), or at infinities as well")
    debug = commands.add_parser("debug", usage="opscope torch debug [options] -- PROGRAM ...", help="stop at operators, and look at their tensors")
    debug.add_argument(
        "--debug-server",
        nargs="?",
        const="",
        metavar="SOCKET",
        help="only let a debugger attach, with `opscope debug --attach`, at this socket or by the number of the process; without it, the prompt comes here",
    )
    debug.add_argument("--wait-for-client", action="store_true", help="with --debug-server: wait for a debugger before the first call of a module")
    debug.add_argument("--eval", action="store_true", help="let debuggers evaluate expressions of Python, with `py`")
    debug.add_argument("-ex", "--ex", action=_Script, default=[], dest="script", metavar="COMMAND", help="run this command before the prompt comes")
    debug.add_argument("-x", action=_Script, dest="script", metavar="FILE", help="run the commands of this file before the prompt comes")
    debug.add_argument("--batch", action="store_true", help="run these commands or lines of stdin, then end; the first that fails ends it with exit code 1")
    debug.add_argument("--json", action="store_true", help="print one JSON object a line")
    debug.add_argument("--quiet", action="store_true", help="print results, stops and errors only")
    for command in (dump, watch, profile, debug):
        command.add_argument("--steps", metavar="A..B", help="only the steps from A up to, but not including, B")
        command.add_argument(
            "--compiled",
            choices=["eager", "interpret", "outside"],
            default="eager",
            help="run what torch.compile compiled as it is written (default), execute the graph that it captured operator by operator "
            "(with --level op), or leave it compiled and look at its outside",
        )
    for command, what in (dump, "the dump"), (profile, "the recording"), (watch, "the watch"):
        command.add_argument(
            "--attach",
            metavar="PID",
            help=f"attach {what} to a program that runs, with OPSCOPE_TORCH=serve, for --steps (default: {'until it finds something' if command is watch else '1'})",
        )
    debug.set_defaults(attach=None)
    words = list(words)
    place = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(_joined(words[:place]))
    program = words[place + 1 :]
    if options.attach is not None:
        if program:
            parser.error("--attach is for a program that runs already, and one is given after --")
        if options.steps is None and options.what != "watch":
            options.steps = "1"
        if options.steps is not None and options.steps.isdecimal():
            options.steps = f"0..{options.steps}"
    elif not program:
        parser.error("no program is given; it comes after --, as in: opscope torch dump -- python train.py")
    if options.what == "dump":
        if options.acl_json_path is not None:
            given = {"--output": options.output, "--select": options.select, "--statistics": options.statistics, "--level module": options.level == "module"}
            for option, is_given in given.items():
                if is_given:
                    parser.error(f"{option} does not go with --acl-json-path: the file says {_SAYS[option]}")
        options.level = options.level or ("module" if options.acl_json_path is None else "op")
    if options.compiled == "interpret" and getattr(options, "level", "op") != "op":
        parser.error("--compiled interpret looks at operators; add --level op")
    if options.steps is not None and not _is_range(options.steps):
        parser.error(f"'{options.steps}' is not a range of steps; expected, for example, 2..5 for the steps 2, 3 and 4")
    return options, program


def _joined(words: Sequence[str]) -> list[str]:
    """The words with each command of the debugger joined to its option: one that may fail begins with a dash, as options do."""
    joined: list[str] = []
    rest = iter(words)
    for word in rest:
        value = next(rest, None) if word in ("-ex", "--ex", "-x") else None
        joined.append(word if value is None else f"{word}={value}")
    return joined


class _Script(argparse.Action):
    """Keeps commands and files of them in the order of the command line."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        namespace.script = [*namespace.script, "-x" if option == "-x" else "--ex", str(values)]


# What an acl.json says instead of an option.
_SAYS = {
    "--output": "where the dump goes",
    "--select": "which operators are dumped",
    "--statistics": "whether statistics are dumped",
    "--level module": "what is dumped of operators",
}


def _is_range(text: str) -> bool:
    begin, dots, end = text.partition("..")
    if not dots:
        return begin.isdecimal()
    return all(part == "" or part.isdecimal() for part in (begin, end)) and (not begin or not end or int(begin) < int(end))


def _read_acl_json(options: argparse.Namespace) -> tuple[Path, list[str]] | None:
    """The directory that an acl.json names, and its text with the directory that its paths are relative to. `None` if it is wrong."""
    from opscope import _opscope

    here = str(Path.cwd())
    try:
        text, root, notes = _opscope.read_acl_json(options.acl_json_path, here, options.output_dirname)
    except Exception as error:
        _tell(f"{options.acl_json_path} cannot be used:")
        for problem in str(error).splitlines():
            _tell(f"  {problem}")
        return None
    for note in notes:
        _tell(note)
    return root, [text, here]


def _prepare(root: Path, overwrite: bool) -> str | None:
    """Removes what stands in the way of the dump. Returns the problem, if there is one."""
    if not root.exists():
        return None
    if not overwrite:
        return f"{root} exists; choose another --output-dirname, or --overwrite it"
    is_ours = (root / "manifest.json").exists() or any(root.glob("rank-*/manifest.json")) or not any(root.iterdir())
    if not is_ours:
        return f"{root} is neither a dump nor a recording, so it is not overwritten"
    shutil.rmtree(root)
    return None


def _request(options: argparse.Namespace, root: Path | None, acl_json: list[str] | None, scratch: Path, notes: Path) -> dict[str, Any]:
    """What the process of the program is to do."""
    request: dict[str, Any] = {"what": options.what, "steps": options.steps, "compiled": options.compiled, "notes": str(notes)}
    if root is not None:
        request |= {"directory": str(root.resolve()), "level": options.level}
    if options.what == "dump":
        request |= {
            "backward": options.backward,
            "select": options.select,
            "statistics": options.statistics,
            "acl_json": acl_json,
        }
    if options.what == "profile":
        request |= {"tools": [str(Path(tool).resolve()) for tool in options.tool]}
    if options.what == "watch":
        request |= {"nonfinite": options.nonfinite}
    if options.what == "debug":
        request |= {"socket": _socket(options, scratch), "stops": options.debug_server is None, "evaluates": options.eval}
    return request


def _environment(options: argparse.Namespace, request: dict[str, Any], scratch: Path) -> dict[str, str]:
    """The variables that the program gets. A directory in PYTHONPATH has this package, whatever environment the program runs in."""
    package = Path(__file__).resolve().parent.parent
    boot = scratch / "boot"
    facts = boot / "opscope-0.dist-info"
    facts.mkdir(parents=True)
    (boot / "opscope").symlink_to(package)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: opscope\nVersion: 0\n")
    (facts / "entry_points.txt").write_text("[torch.backends]\nopscope = opscope._torch_boot:boot\n")
    path = [str(boot), *filter(None, [os.environ.get("PYTHONPATH")])]
    waits = {"OPSCOPE_DEBUG_WAIT": _PATIENCE} if request.get("stops") or getattr(options, "wait_for_client", False) else {}
    return {**os.environ, **waits, "OPSCOPE_TORCH": json.dumps(request), "PYTHONPATH": os.pathsep.join(path)}


def _socket(options: argparse.Namespace, scratch: Path) -> str | None:
    """Where a debugger attaches; `None` for the place that the number of the process leads to."""
    return str(scratch / "debug.sock") if options.debug_server is None else options.debug_server or None


def _attach(options: argparse.Namespace, request: dict[str, Any], notes: Path) -> int:
    """Attaches to a program that runs, and returns the exit code when the steps are over."""
    from opscope import _opscope

    try:
        pid = _opscope.instrument_program(options.attach, json.dumps(request))
    except Exception as error:
        _tell(str(error))
        return CANNOT_ATTACH
    is_ending = False
    while not any(notes.glob("*.ended.json")) and _lives(pid):
        try:
            time.sleep(0.02)
        except KeyboardInterrupt:
            if is_ending:
                _tell("the program goes on, and the rest of what was asked for is not waited for")
                break
            is_ending = True
            _tell("it ends at the next call of a module; Ctrl-C again does not wait for that")
            with contextlib.suppress(Exception):
                _opscope.instrument_program(options.attach, json.dumps({"what": "end", "notes": str(notes)}))
    return _finish(options, 0, _processes(notes))


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


class _Prompt:
    """The prompt of the debugger, in this terminal."""

    def __init__(self, options: argparse.Namespace, socket: str | None) -> None:
        self.socket = str(socket)
        # The program stops at its first operator, and commands are for where it is then.
        self.words = ["--ex", "wait", *options.script, *(["-x", "/dev/stdin"] if options.batch and not options.script else [])]
        self.words += [f"--{name}" for name in ("batch", "json", "quiet") if getattr(options, name)]
        # Its exit code.
        self.code = 0

    def run(self, child: subprocess.Popen[bytes]) -> None:
        """Waits until the program has a debugger, and attaches to it. The program goes on when the prompt ends."""
        while not Path(self.socket).exists():
            if child.poll() is not None:
                return
            time.sleep(0.02)
        self.code = subprocess.call([sys.executable, "-m", "opscope", "debug", "--attach", self.socket, *self.words])


def _run(program: Sequence[str], environment: dict[str, str], prompt: _Prompt | None) -> int:
    """Runs the program, and returns its exit code, or the negative number of the signal that ended it."""
    # With a prompt, Ctrl-C and what is typed are for that.
    stdin = None if prompt is None else subprocess.DEVNULL
    with subprocess.Popen(program, env=environment, stdin=stdin, start_new_session=prompt is not None) as child:
        # Ctrl-C reaches the program from the terminal. Other signals are passed on.
        signal.signal(signal.SIGINT, signal.SIG_IGN)

        def pass_on(number: int, frame: FrameType | None) -> None:
            child.send_signal(number)

        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, pass_on)
        if prompt is not None:
            prompt.run(child)
            signal.signal(signal.SIGINT, pass_on)
        return child.wait()


@dataclass
class Process:
    """What a process of the program has noted."""

    pid: int
    rank: str | None = None
    directory: str | None = None
    ended: dict[str, Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def _processes(notes: Path) -> list[Process]:
    found: dict[int, Process] = {}
    for path in sorted(notes.glob("*.json")):
        note = json.loads(path.read_text())
        process = found.setdefault(note["pid"], Process(note["pid"]))
        process.rank = note["rank"]
        match path.name.split(".")[1]:
            case "directory":
                process.directory = note["directory"]
            case "ended":
                process.ended = note
    return sorted(found.values(), key=lambda process: (int(process.rank or 0), process.pid))


def _finish(options: argparse.Namespace, code: int, processes: list[Process]) -> int:
    """Prints what was found, and returns the exit code: that of the program, unless it is 0."""
    own = 0
    looked = [process for process in processes if process.directory is not None or process.ended is not None]
    # One that was killed has said nothing, whatever it called.
    was_killed = code < 0 and bool(processes)
    if not looked and not was_killed:
        own = INCOMPLETE
        why = "it called no module meanwhile" if options.attach is not None else "it imported torch and called no module" if processes else "it did not import a torch that loads opscope (2.5 or later; python -I and -E prevent it)"
        _tell(f"nothing was watched: {why}")
    for process in looked:
        own = max(own, _tell_of(options.what, process))
    if options.what == "watch" and looked and own == 0:
        _tell("no operator computed NaN" if options.nonfinite == "nan" else "no operator computed NaN or infinity")
    if options.what == "watch" and any(process.ended and process.ended.get("finding") for process in looked):
        own = FOUND
    if code < 0:
        _tell(f"the program was ended by {signal.Signals(-code).name}")
        # The command ends by the same signal, so that its caller sees what it would see of the program.
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        return 128 - code
    if code != 0 and not (options.what == "watch" and own == FOUND):
        _tell(f"the program ended with exit code {code}")
    return code or own


def _tell_of(what: str, process: Process) -> int:
    who = f"rank {process.rank}: " if process.rank is not None else ""
    ended = process.ended
    if ended is None:
        return _tell_of_killed(what, who, process)
    finding = ended.get("finding")
    if finding:
        _tell(who + finding["text"])
        return FOUND
    if ended.get("directory") is None:
        for error in ended["errors"]:
            _tell(f"{who}{error}")
        return INCOMPLETE if ended["errors"] else 0
    state = "complete" if ended["complete"] else "NOT complete"
    operators, size = _counted(ended["operators"], "operator"), _size(ended["bytes"])
    counted = _counted(ended["tensors"], "tensor") if what == "dump" else _counted(ended["steps"], "step")
    _tell(f"{who}{_shown(ended['directory'])}: {counted} of {operators}, {size}, {state}")
    errors = ended["errors"]
    for error in errors[:_MOST_TOLD]:
        _tell(f"  {error}")
    if len(errors) > _MOST_TOLD:
        _tell(f"  ... and {len(errors) - _MOST_TOLD} more, in manifest.json")
    return 0 if ended["complete"] else INCOMPLETE


_MOST_TOLD = 5


def _tell_of_killed(what: str, who: str, process: Process) -> int:
    if process.directory is None:
        return INCOMPLETE
    from opscope import _opscope

    reason = "the process of the program ended before it could close the dump"
    try:
        if what == "dump":
            kept = _counted(_opscope.close_abandoned_dump(Path(process.directory), reason), "tensor")
        else:
            kept = _counted(_opscope.close_abandoned_profile(Path(process.directory), reason), "step")
        _tell(f"{who}{_shown(process.directory)}: {kept}, NOT complete: {reason}")
    except Exception as error:
        _tell(f"{who}{_shown(process.directory)}: {error}")
    return INCOMPLETE


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _size(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def _shown(path: str) -> str:
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path


def _tell(text: str) -> None:
    print(f"opscope: {text}", file=sys.stderr)
