#!/usr/bin/env python3
"""Makes all changes of a sample in one build, and runs a crate's tests once for each. scripts/check-mutants --together calls it.

    together.py PACKAGE SHARD OUTPUT LIST

It runs in a copy of the tree that it may change. LIST is the output of `cargo mutants --list --json`. OUTPUT gets caught.txt, missed.txt,
timeout.txt and unviable.txt, with a change in each line, as cargo-mutants names it.

The body of a function that is changed becomes a `match` of a number that the variable OPSCOPE_MUTANT gives: one arm has the body with one
change, and the last one has it as it is. So no expression has to be understood, and each change is exactly that of cargo-mutants. What
does not compile is taken out, and the rest is built again.

Left out, because they cannot stand behind a number: changes outside of functions, in `const` functions, and in functions whose changed
and unchanged bodies have different types (`impl Iterator`).

    OPSCOPE_MUTANTS_SECONDS=N    test no further change after so long
"""

import collections
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# The least time that tests may take, in seconds, and how many times longer than without a change.
LEAST, TIMES = 20, 5
# What a process may map: a change can ask for any amount.
MEMORY = 16 << 30
CHOSEN = """
/// Returns the number of the change that is tested.
#[doc(hidden)]
#[allow(missing_docs)]
pub fn mutant_chosen() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static CHOSEN: AtomicU32 = AtomicU32::new(u32::MAX);
    match CHOSEN.load(Ordering::Relaxed) {
        u32::MAX => {
            let chosen = std::env::var("OPSCOPE_MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(0);
            CHOSEN.store(chosen, Ordering::Relaxed);
            chosen
        }
        chosen => chosen,
    }
}
"""
# What can hold a brace that is not part of the code: comments, texts and letters. A lifetime has no second quotation
# mark.
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(\#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\(?:x..|u\{[^}]*\}|.)|[^'\\])'|[{}]""", re.DOTALL
)


class Source:
    """A file, its changes by the functions that they lie in, and where each change stands in the file that is compiled."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text()
        starts = [0]
        for line in self.text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        self.starts = starts
        self.functions = collections.defaultdict(dict)
        # From line, to line, and the numbers of the changes that an error there belongs to.
        self.regions = []

    def span(self, span):
        """Returns where a span begins and ends."""
        return tuple(self.starts[at["line"] - 1] + at["column"] - 1 for at in (span["start"], span["end"]))

    def add(self, number, change):
        """Takes a change; returns whether it lies in a function with a body that can be chosen."""
        if change["function"] is None or re.search(r"\bimpl\b", change["function"]["return_type"]):
            return False
        start, end = self.span(change["function"]["span"])
        body = self.body(start, end)
        signature = self.text[start : body[0]] if body else ""
        if body is None or re.search(r"\bconst\s+(unsafe\s+|extern\s+)*fn\b", TOKEN.sub("", signature)):
            return False
        self.functions[body][number] = (*self.span(change["span"]), change["replacement"])
        return True

    def body(self, start, end):
        """Returns where the last block in braces of a function begins and ends, without the braces."""
        open_braces = []
        block = None
        for token in TOKEN.finditer(self.text, start, end):
            if token[0] == "{":
                open_braces.append(token.end())
            elif token[0] == "}" and open_braces:
                block = (open_braces.pop(), token.start())
        return block if not open_braces else None

    def write(self):
        """Writes the file with all of its changes."""
        self.regions = []
        self.lines = 1
        self.path.write_text("".join(self.pieces(0, len(self.text))))

    def pieces(self, start, end):
        """Returns the text of a range with the bodies in it that are chosen."""
        out = []

        def put(text):
            self.lines += text.count("\n")
            out.append(text)

        inside = [body for body, changes in self.functions.items() if changes and start <= body[0] and body[1] <= end]
        for first, last in sorted(inside):
            if first < start:
                continue
            put(self.text[start:first])
            begin = self.lines
            put("\nmatch crate::mutant_chosen() {\n")
            for number, (change, end_of_change, replacement) in self.functions[first, last].items():
                line = self.lines
                put(f"{number} => {{\n{self.text[first:change]} {replacement} {self.text[end_of_change:last]}\n}}\n")
                self.regions.append((line, self.lines - 1, [number]))
            put("_ => {")
            # Its own changes are taken out of what is around it, or it would be found again.
            own = self.functions[first, last]
            self.functions[first, last] = {}
            out.extend(self.pieces(first, last))
            self.functions[first, last] = own
            put("}\n}\n")
            self.regions.append((begin, self.lines, list(own)))
            start = last
        put(self.text[start:end])
        return out

    def at(self, line):
        """Returns the changes that an error in a line belongs to: those of the smallest region around it."""
        around = [(last - first, numbers) for first, last, numbers in self.regions if first <= line <= last]
        return min(around, default=(0, []))[1]

    def remove(self, number):
        """Takes a change out."""
        for changes in self.functions.values():
            changes.pop(number, None)


def build(package, sources):
    """Builds the tests until everything compiles. Returns the programs, and the numbers of the changes that did not compile."""
    command = ["cargo", "test", "--package", package, "--tests", "--no-run", "--message-format", "json"]
    removed = set()
    while True:
        for source in sources.values():
            source.write()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode == 0:
            tests = [m for m in messages if m["reason"] == "compiler-artifact" and m["profile"]["test"] and m["executable"]]
            # A browser does not start with the memory that a test may take.
            tests = [m for m in tests if m["target"]["name"] != "browser"]
            return [(pathlib.Path(m["manifest_path"]).parent, m["executable"]) for m in tests], removed
        errors = [m["message"] for m in messages if m["reason"] == "compiler-message" and m["message"]["level"] == "error"]
        wrong = set()
        for error in errors:
            for span in error["spans"]:
                if span["is_primary"]:
                    source = sources.get(os.path.abspath(span["file_name"]))
                    wrong.update(source.at(span["line_start"]) if source else [])
        if not wrong:
            sys.exit("check-mutants: the tests do not compile\n" + "\n".join(e["rendered"] for e in errors) + done.stderr[-2000:])
        print(f"{len(wrong)} changes do not compile", flush=True)
        for number in wrong:
            removed.add(number)
            for source in sources.values():
                source.remove(number)


def run(test, number, limit):
    """Runs a program of tests. Returns whether it passed, None if it hung, and how long it took."""
    directory, program = test
    # What tests leave is removed after each change.
    with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as temporary:
        # A test starts a program of another user in it.
        os.chmod(temporary, 0o755)
        environment = dict(os.environ, OPSCOPE_MUTANT=str(number), CARGO_MANIFEST_DIR=str(directory), TMPDIR=temporary)
        environment |= {"INSTA_WORKSPACE_ROOT": os.getcwd(), "INSTA_UPDATE": "no", "RUST_BACKTRACE": "0"}
        start = time.monotonic()
        with open(os.path.join(temporary, "output"), "wb") as output:
            process = subprocess.Popen(
                [program], cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
            )
            try:
                passed = process.wait(timeout=limit) == 0
            except subprocess.TimeoutExpired:
                passed = None
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        if number == 0 and not passed:
            shutil.copyfileobj(open(output.name, encoding="utf-8", errors="replace"), sys.stdout)
        return passed, time.monotonic() - start


def main():
    package, shard, out, listed = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4]
    end = time.monotonic() + float(os.environ.get("OPSCOPE_MUTANTS_SECONDS", "inf"))
    index, count = map(int, shard.split("/"))
    changes = dict(enumerate(json.loads(pathlib.Path(listed).read_text())[index::count], 1))
    sources = {}
    left_out = []
    for number, change in changes.items():
        path = os.path.abspath(change["file"])
        source = sources.setdefault(path, Source(pathlib.Path(path)))
        if not source.add(number, change):
            left_out.append(number)
    manifest = json.loads(subprocess.check_output(["cargo", "metadata", "--no-deps", "--format-version", "1"]))
    targets = next(p for p in manifest["packages"] if p["name"] == package)["targets"]
    root = next(target["src_path"] for target in targets if "lib" in target["kind"] or "cdylib" in target["kind"])
    root = sources.setdefault(root, Source(pathlib.Path(root)))
    root.text += CHOSEN
    tests, removed = build(package, sources)

    found = collections.defaultdict(list, unviable=sorted(removed), left_out=left_out)
    tests = [(test, *run(test, 0, 600)) for test in tests]
    for test, passed, took in tests:
        print(f"unchanged: {took:6.1f} s {test[1]}", flush=True)
        if not passed:
            sys.exit(f"check-mutants: without a change, this does not pass: {test[1]}")
    tests.sort(key=lambda test: test[2])
    for number in changes.keys() - removed - set(left_out):
        if time.monotonic() > end:
            found["left_out"].append(number)
            continue
        outcome = "missed"
        for test, _, took in tests:
            passed, _ = run(test, number, max(LEAST, TIMES * took))
            if not passed:
                outcome = "timeout" if passed is None else "caught"
                break
        found[outcome].append(number)
        print(f"{outcome}: {changes[number]['name']}", flush=True)
    for outcome in ["caught", "missed", "timeout", "unviable", "left_out"]:
        (out / f"{outcome}.txt").write_text("".join(changes[number]["name"] + "\n" for number in found[outcome]))


if __name__ == "__main__":
    main()
