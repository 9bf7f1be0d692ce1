"""Editors: programs that they launch, by the Debug Adapter Protocol."""

import json
import queue
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
from test_program import NET

PROGRAM = (
    NET
    + """
def train(step):
    optimizer.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()

for step in range(3):
    print("loss", train(step))
sys.exit(len(sys.argv))
"""
)
LINES = PROGRAM.splitlines()


def line_of(text):
    """The number of the line that has a text."""
    return next(number for number, line in enumerate(LINES, 1) if text in line)


class Editor:
    """An editor: what it sends, and what it was sent."""

    def __init__(self, process):
        self.process = process
        self.messages = queue.Queue()
        self.events = []
        self.seq = 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while header := self.process.stdout.readline():
            self.process.stdout.readline()
            self.messages.put(json.loads(self.process.stdout.read(int(header.split(b":")[1]))))

    def ask(self, command, **arguments):
        self.seq += 1
        text = json.dumps({"seq": self.seq, "type": "request", "command": command, "arguments": arguments}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self.process.stdin.flush()
        while True:
            message = self.messages.get(timeout=100)
            if message["type"] == "response" and message["request_seq"] == self.seq:
                return message
            self.events.append(message)

    def done(self, command, **arguments):
        answer = self.ask(command, **arguments)
        assert answer["success"], answer
        return answer.get("body")

    def event(self, name):
        while True:
            for event in self.events:
                if event["event"] == name:
                    self.events.remove(event)
                    return event.get("body")
            self.events.append(self.messages.get(timeout=100))

    def printed(self, category):
        return "".join(event["body"]["output"] for event in self.events if event["event"] == "output" and event["body"]["category"] == category)


@contextmanager
def editor(place, **launch):
    """An editor that has launched the program, up to where it sets breakpoints."""
    (place / "train.py").write_text(PROGRAM)
    with subprocess.Popen([sys.executable, "-m", "opscope", "dap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        editor = Editor(process)
        try:
            editor.done("initialize", adapterID="opscope")
            editor.done("launch", program=str(place / "train.py"), python=sys.executable, cwd=str(place), **launch)
            yield editor
        finally:
            process.kill()


def frames(editor, thread):
    return editor.done("stackTrace", threadId=thread)["stackFrames"]


def test_a_program_is_launched_stopped_at_a_line_and_looked_at(tmp_path):
    with editor(tmp_path, args=["more"]) as it:
        it.event("initialized")
        forward = line_of("return self.second")
        lines = it.done("setBreakpoints", source={"path": str(tmp_path / "train.py")}, breakpoints=[{"line": forward, "condition": "rank(input[0]) == 1"}])
        assert lines["breakpoints"][0]["verified"], lines
        it.done("configurationDone")
        stop = it.event("stopped")
        assert stop["reason"] == "breakpoint" and "first/aten.addmm.default" in stop["text"], stop
        thread = stop["threadId"]
        stack = frames(it, thread)
        assert [frame["name"] for frame in stack][:4] == ["before first/aten.addmm.default (aten.addmm.default)", "first (Linear)", "train", "<module>"], stack
        assert [frame["line"] for frame in stack if "source" in frame] == [forward, line_of("loss = net(x)"), line_of('print("loss"')]
        assert {frame["source"]["path"] for frame in stack if "source" in frame} == {str(tmp_path / "train.py")}
        here = stack[0]["id"]
        assert it.done("evaluate", expression="absmax(input[0])", frameId=here)["result"], "a function of a tensor"
        assert it.done("evaluate", expression="x.shape[0], type(self).__name__", frameId=here)["result"] == "(3, 'Net')"
        assert not it.ask("evaluate", expression="nothing_at_all", frameId=here)["success"]
        it.done("stepOut", threadId=thread)
        stop = it.event("stopped")
        assert stop["reason"] == "step" and "Net/aten.relu.default" in stop["text"], stop
        it.done("setBreakpoints", source={"path": str(tmp_path / "train.py")}, breakpoints=[])
        it.done("next", threadId=thread)
        stop = it.event("stopped")
        # Past the operators of the second module, and there is nothing in the network itself behind them.
        assert "script/aten." in stop["text"], stop
        it.done("continue", threadId=thread)
        assert it.event("exited")["exitCode"] == 2
        it.event("terminated")
        assert it.printed("stdout").count("loss ") == 3
        it.done("disconnect")


def test_a_launch_can_stop_at_the_first_operator_and_the_end_of_the_session_ends_the_program(tmp_path, tmp_path_factory, monkeypatch):
    sockets = tmp_path_factory.mktemp("s")
    monkeypatch.setenv("TMPDIR", str(sockets))
    with editor(tmp_path, stopOnEntry=True) as it:
        it.event("initialized")
        it.done("configurationDone")
        stop = it.event("stopped")
        assert stop["reason"] == "entry" and "first/aten.addmm.default" in stop["text"], stop
        assert list(sockets.glob("opscope-dap-*/debug.sock"))
        it.done("disconnect")
        # An editor may kill the adapter now.
        assert not list(sockets.glob("opscope-dap-*"))
        assert it.process.wait(timeout=100) == 0
    assert not list(tmp_path.glob("*.sock"))


@pytest.mark.parametrize(("program", "says", "code"), [("raise SystemExit(7)", "", 7), ("import nothing", "ModuleNotFoundError", 1)])
def test_a_program_that_ends_before_it_calls_a_module_is_told_with_its_code(tmp_path, program, says, code):
    with editor(tmp_path, env={"OPSCOPE_TEST": "1"}) as it:
        it.done("disconnect")
    (tmp_path / "train.py").write_text(program)
    with subprocess.Popen([sys.executable, "-m", "opscope", "dap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        it = Editor(process)
        it.done("initialize")
        it.done("launch", program=str(tmp_path / "train.py"), python=sys.executable)
        assert it.event("exited")["exitCode"] == code
        it.event("terminated")
        assert says in it.printed("stderr")
        it.done("disconnect")


def test_an_interpreter_that_is_not_there_is_an_error_of_the_launch(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    with subprocess.Popen([sys.executable, "-m", "opscope", "dap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        it = Editor(process)
        it.done("initialize")
        refused = it.ask("launch", program=str(tmp_path / "train.py"), python="no-such-python")
        assert not refused["success"] and "no-such-python cannot be started" in refused["message"], refused
        it.done("disconnect")
