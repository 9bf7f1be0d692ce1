//! `--isolate`: what remains of a job whose process dies, and that nothing else differs.

mod process;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use opscope::debug::client::Client;
use opscope::debug::{AttachOptions, BreakpointSpec, EventName, Queue};
use opscope::profile::{Fact, Recording};
use opscope_c_programs::consumers::{V2, library};
use process::onnx::{FLOAT32, chain};
use process::{Ended, Workplace, end, engine, model};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

const DIGITS: &str = "digits_cnn.onnx";

/// A library that crashes in a dispatch, as a bug of an engine's library would. It is loaded into the process of the
/// job.
const CRASH: &str = r#"
#include "opscope_producer.h"
#include <stdlib.h>
static unsigned long seen;
static int state;
static void dispatch_begin(void *consumer, const opscope_producer_dispatch_t *dispatch)
{
    (void)consumer;
    (void)dispatch;
    if (++seen == AT) {
        CRASH;
    }
}
int opscope_attach_producer(opscope_producer_t *table)
{
    table->consumer = &state;
    table->dispatch_begin = dispatch_begin;
    return OPSCOPE_ATTACHED;
}
"#;

/// Returns a command whose process crashes in a library, at its dispatch number `at`.
fn crashing(place: &Workplace, crash: &str, at: u64, arguments: &[&str]) -> Command {
    library(&place.path("lib").join(V2), CRASH, &[&format!("-DCRASH={crash}"), &format!("-DAT={at}")]);
    let mut command = place.command(arguments);
    command.env("OPSCOPE_LIB_DIR", place.path("lib"));
    command
}

/// The options of a benchmark that would take days.
const ENDLESS: [&str; 6] = ["--loop", "10000000000", "--output", "out", "--output-dirname", "run"];

fn piped(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait(mut child: Child) -> Ended {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    Ended { code: child.wait().unwrap().code(), stdout, stderr }
}

/// Waits until this file of a running command has this many bytes.
fn wait_for_bytes(place: &Workplace, command: &mut Child, file: &str, bytes: u64) {
    while place.path(file).metadata().map_or(0, |file| file.len()) < bytes {
        assert!(command.try_wait().unwrap().is_none(), "it ended before {file} grew");
        std::thread::yield_now();
    }
}

/// Returns the process in which the job of a command runs.
fn child_of(command: &Child) -> Pid {
    let children = format!("/proc/{0}/task/{0}/children", command.id());
    loop {
        let text = std::fs::read_to_string(&children).unwrap();
        if let Some(pid) = text.split_whitespace().next() {
            return Pid::from_raw(pid.parse().unwrap()).unwrap();
        }
        std::thread::yield_now();
    }
}

/// Checks a dump whose process died: its tensors are the first ones of a whole dump. Returns how many there are.
fn is_a_prefix(place: &Workplace, whole: &[Value], signal: &str) -> usize {
    assert_eq!(
        place.tree("out").iter().filter(|path| path.contains(".partial") || path.contains(".reserve")).count(),
        0
    );
    assert!(!place.path("out/run").exists() && !place.path("out/run_summary.json").exists());
    let manifest = place.json("out/dump/run/manifest.json");
    assert_eq!(manifest["complete"], false, "{manifest}");
    let reason = manifest["errors"][0].as_str().unwrap();
    assert!(reason.contains(signal) && reason.ends_with("while running"), "{reason}");
    let inspected = end(&mut place.command(&["inspect", "out/dump/run", "--json"]));
    assert_eq!(inspected.code, Some(3), "{inspected:?}");
    let inspection = inspected.json();
    assert_eq!(inspection["problems"], serde_json::json!([]), "nothing is cut");
    let tensors = inspection["tensors"].as_array().unwrap().len();
    assert_eq!(manifest["tensors"].as_u64(), Some(tensors as u64));
    if place.path("out/dump/run/index.jsonl").exists() {
        let lines = place.json_lines("out/dump/run/index.jsonl");
        assert_eq!(lines, whole[..tensors], "it begins as the whole dump does");
        let files = place.tree("out/dump/run").iter().filter(|path| path.ends_with(".npy")).count();
        assert_eq!(files, lines.iter().filter(|line| !line["file"].is_null()).count(), "every file is in the index");
    }
    tensors
}

#[test]
fn a_crash_in_the_middle_of_a_dump_is_one_error_and_the_dump_holds_every_tensor_before_it() {
    let digits = model(DIGITS);
    let at = 30;
    for (format, crash, signal) in [
        ("npy", "*(volatile int *)8 = 1", "SIGSEGV (invalid memory access)"),
        ("ascend", "abort()", "SIGABRT"),
        ("statistics", "*(volatile int *)8 = 1", "SIGSEGV"),
    ] {
        let options = ["--dump", "--dump-format", format, "--loop", "3", "--output", "out", "--output-dirname"];
        let run = |name| [&["benchmark", &*digits][..], &options, &[name]].concat();
        let place = Workplace::new();
        let ended = end(&mut place.command(&run("whole")));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let whole = match format {
            "ascend" => Vec::new(),
            _ => place.json_lines("out/dump/whole/index.jsonl"),
        };
        std::fs::remove_dir_all(place.path("out")).unwrap();

        let ended = end(&mut crashing(&place, crash, at, &[&run("run")[..], &["--isolate"]].concat()));
        ended.refused(1, &[DIGITS, signal, "while running; what was captured until then is in \"out/dump/run\""]);
        ended.says(&["\n  the last tensor that is whole is '", "run 1)"]);
        let tensors = is_a_prefix(&place, &whole, signal);
        assert!((17..32).contains(&tensors), "{format}: {tensors} of 16 in each run: it crashed in the second one");
    }
}

/// Starts a command, and stops its run at its second convolution with a debugger.
fn stopped(place: &Workplace, arguments: &[&str]) -> (Child, Client) {
    let digits = model(DIGITS);
    let fixed = ["benchmark", &digits, "--isolate", "--debug-server=socket", "--warmup-count", "0", "--verify", "off"];
    let mut command = piped(&mut place.command(&[&fixed[..], &ENDLESS, arguments].concat()));
    let mut said = String::new();
    BufReader::new(command.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("attach with"), "{said}");
    let client = Client::connect(place.path("socket")).unwrap();
    client.attach(AttachOptions { name: "the test".into(), ..AttachOptions::default() }).unwrap();
    loop {
        assert!(client.wait(Duration::from_secs(60)), "no event comes: {:?}", client.status());
        for event in client.next_events(Queue::Sync, 16).unwrap() {
            match event.kind.name() {
                EventName::Breakpoint => return (command, client),
                EventName::AttachComplete => {
                    let at = "/conv2/Conv".parse().unwrap();
                    client.add_breakpoint(BreakpointSpec { one_shot: true, ..BreakpointSpec::at(at) }).unwrap();
                }
                _ => {}
            }
            client.acknowledge(event.sequence, opscope::debug::Resume::Continue).unwrap();
        }
    }
}

#[test]
fn a_process_that_is_killed_while_a_debugger_holds_it_leaves_what_was_captured_before() {
    for (signal, name) in
        [(Signal::KILL, "SIGKILL (by a user, or by the system because memory ran out)"), (Signal::ABORT, "SIGABRT")]
    {
        let place = Workplace::new();
        let (command, client) = stopped(&place, &["--dump"]);
        assert_eq!(
            client.hello().pid,
            child_of(&command).as_raw_nonzero().get().cast_unsigned(),
            "the model runs there"
        );
        kill_process(child_of(&command), signal).unwrap();
        let ended = wait(command);
        ended.refused(1, &[name, "while running", "is in \"out/dump/run\""]);
        let lines = place.json_lines("out/dump/run/index.jsonl");
        let tensors = is_a_prefix(&place, &lines, name);
        let in_run = |line: &&Value| line["run"] == lines[tensors - 1]["run"];
        let of_last: Vec<_> = lines.iter().filter(in_run).map(|line| line["operator"].as_str().unwrap()).collect();
        assert!(of_last.contains(&"/conv1/Conv") && !of_last.contains(&"/conv2/Conv"), "{of_last:?}");
    }
}

#[test]
fn a_recording_of_a_process_that_is_killed_has_every_record_once() {
    // The process is killed while a run is held at an operator, with nothing written since the last flush; and in the
    // middle of writing.
    for held in [true, false] {
        if held && engine::is_onnxruntime() {
            // An optimised run of ONNX Runtime cannot be held at any operator.
            continue;
        }
        let place = Workplace::new();
        let digits = model(DIGITS);
        let command = if held {
            stopped(&place, &["--profiler"]).0
        } else {
            let fixed = ["benchmark", &digits, "--isolate", "--warmup-count", "0", "--verify", "off"];
            let watched = ["--profiler", "--profiler-watermark", "4K"];
            let mut command = piped(&mut place.command(&[&fixed, &ENDLESS[..], &watched].concat()));
            wait_for_bytes(&place, &mut command, "out/profiler/run.partial/records.bin", 1 << 20);
            command
        };
        kill_process(child_of(&command), Signal::KILL).unwrap();
        let ended = wait(command);
        ended.refused(1, &["SIGKILL", "what was captured until then is in \"out/profiler/run\""]);
        assert_eq!(place.tree("out/profiler/run"), ["manifest.json", "names.jsonl", "records.bin"], "{held}");
        assert_eq!(place.tree("out").len(), 5, "no outputs and no summary");

        let recording = Recording::open(place.path("out/profiler/run")).unwrap();
        let problems = recording.problems();
        assert!(problems.len() == 1 && problems[0].contains("SIGKILL"), "{problems:?}");
        let mut dispatches: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for fact in recording.facts().unwrap() {
            if let Fact::Dispatch(dispatch) = fact.unwrap() {
                dispatches.entry(dispatch.run).or_default().push(dispatch.kernel);
            }
        }
        let (last, before) = dispatches.values().next_back().zip(dispatches.values().next()).unwrap();
        let runs: Vec<u64> = dispatches.keys().copied().collect();
        // The first runs of ONNX Runtime have no times.
        let first = if engine::is_onnxruntime() { 5 } else { 0 };
        assert_eq!(runs, (first..first + runs.len() as u64).collect::<Vec<_>>(), "no run is missing");
        assert!(dispatches.values().rev().skip(1).all(|kernels| kernels == before), "every dispatch is there once");
        assert!(last.len() <= before.len() && before.starts_with(last), "{last:?}");
        assert!(!held || !last.is_empty(), "also those that nothing had written yet");
        let exported = place.export(&["out/profiler/run", "--output", "exports"]);
        assert_eq!(exported.code, Some(3), "{exported:?}");
    }
}

#[test]
fn a_process_that_dies_before_there_are_results_leaves_nothing() {
    let place = Workplace::new();
    place.write("chain.onnx", chain(20_000, "Add", FLOAT32));
    let fixed = ["benchmark", "chain.onnx", "--isolate", "--debug", "--output", "out", "--profiler", "--verify", "off"];
    let mut command = piped(&mut place.command(&fixed));
    let mut stderr = BufReader::new(command.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("planning") {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended before it planned");
    }
    assert!(place.path("out/profiler").exists());
    kill_process(child_of(&command), Signal::KILL).unwrap();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(command.wait().unwrap().code(), Some(1), "{rest}");
    assert!(rest.contains("SIGKILL") && rest.ends_with("while planning for the shapes of the inputs\n"), "{rest}");
    assert_eq!(place.tree(""), ["chain.onnx"], "directories that were made for it are gone, too");
}

#[test]
fn an_isolated_debugger_and_an_isolated_comparison_die_with_one_error() {
    let digits = model(DIGITS);
    for (arguments, doing) in [
        (vec!["debug", &digits, "--isolate", "--batch", "-ex", "run"], "while debugging"),
        (vec!["compare", &digits, &digits, "--isolate", "--fidelity", "optimised"], "while comparing"),
    ] {
        let place = Workplace::new();
        let ended = end(&mut crashing(&place, "abort()", 5, &arguments));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        ended.says(&[&format!("error: {digits}: the process that ran the model was ended by SIGABRT"), doing]);
        assert_eq!(place.tree(""), ["lib", &format!("lib/{V2}")], "nothing is left");
    }
}

#[test]
fn a_process_that_a_library_ends_as_if_all_were_done_is_a_failure() {
    let digits = model(DIGITS);
    let benchmark = vec!["benchmark", &digits, "--isolate", "--profiler", "--output", "out", "--output-dirname", "run"];
    for (crash, arguments, left) in [
        ("exit(0)", benchmark, &["out"][..]),
        ("_Exit(0)", vec!["compare", &digits, &digits, "--isolate", "--fidelity", "optimised"], &[]),
        ("_Exit(0)", vec!["debug", &digits, "--isolate", "--batch", "-ex", "run"], &[]),
    ] {
        let place = Workplace::new();
        let ended = end(&mut crashing(&place, crash, 5, &arguments));
        assert_eq!(ended.code, Some(1), "{arguments:?}: {ended:?}");
        ended.says(&["the process that ran the model was ended from within, by a library that it had loaded while "]);
        let tree = place.tree("");
        assert!(tree.iter().all(|path| path.starts_with("lib") || left.iter().any(|name| path.starts_with(name))));
        if !left.is_empty() {
            assert_eq!(place.json("out/profiler/run/manifest.json")["complete"], false);
        }
    }
}

#[test]
fn exit_codes_results_and_the_summary_are_those_of_a_job_that_is_not_isolated() {
    let place = Workplace::new();
    let (digits, other) = (model(DIGITS), model("tiny_transformer.onnx"));
    let ended = place.benchmark_well(&[&digits, "--isolate", "--json", "-o", "out", "-od", "run"]);
    assert_eq!(ended.stderr, "");
    let summary = ended.json();
    let arguments: Vec<&str> =
        summary["args"].as_array().unwrap().iter().skip(1).map(|word| word.as_str().unwrap()).collect();
    assert_eq!(
        arguments,
        ["benchmark", &digits, "--isolate", "--json", "-o", "out", "-od", "run", "--loop", "1"],
        "as the user wrote it"
    );
    let profiled =
        place.benchmark_well(&[&digits, "--isolate", "--profiler", "-o", "profiled", "-od", "run", "--json"]);
    let manifest = place.json("profiled/profiler/run/manifest.json");
    assert_eq!(
        (&manifest["process"]["name"], &manifest["complete"]),
        (&"opscope".into(), &true.into()),
        "{profiled:?}"
    );
    assert!(!place.path("profiled/profiler/run/buffer.bin").exists());
    assert_eq!(place.tree("out"), ["run", "run/probabilities.npy", "run_summary.json"]);

    place.benchmark(&["nowhere.onnx", "--isolate"]).refused(2, &["nowhere.onnx"]);
    place.benchmark(&[&digits, "--isolate", "--output-dirname", "a"]).refused(2, &["--output-dirname needs --output"]);
    let compared = |arguments: &[&str]| end(&mut place.command(&[&["compare", "--isolate"], arguments].concat()));
    assert_eq!(compared(&[&digits, &digits]).code, Some(0));
    let exact = ["--tolerance", "0,0", "--fidelity", "optimised"];
    assert_eq!(compared(&[&[&*other, &other], &exact[..]].concat()).code, Some(4));
    let debugged = end(&mut place.command(&["debug", &digits, "--isolate", "--batch", "-ex", "nonsense"]));
    assert_eq!(debugged.code, Some(1), "{debugged:?}");
    let inspected = end(&mut place.command(&["inspect", &digits, "--isolate", "--engine", "tract", "--json"]));
    assert_eq!((inspected.code, &inspected.json()["engine"]["name"]), (Some(0), &"tract".into()), "{inspected:?}");
    end(&mut place.command(&["inspect", "out", "--isolate"])).refused(2, &["--isolate is for models"]);
    let refused = end(&mut place.command(&["debug", "--attach", "1", "--isolate"]));
    refused.refused(2, &["--isolate"]);
}

/// Starts an isolated profile in a group of its own, and waits until it has measured something.
fn measuring(place: &Workplace) -> Child {
    let digits = model(DIGITS);
    let fixed = ["benchmark", &digits, "--isolate", "--json", "--profiler", "--profiler-watermark", "4K"];
    let mut command = piped(place.command(&[&fixed, &ENDLESS[..]].concat()).process_group(0));
    wait_for_bytes(place, &mut command, "out/profiler/run.partial/records.bin", 1 << 16);
    command
}

#[test]
fn a_signal_reaches_the_job_once_whoever_it_is_sent_to() {
    for (kind, to_group) in [(Signal::INT, false), (Signal::INT, true), (Signal::TERM, false), (Signal::TERM, true)] {
        let place = Workplace::new();
        let command = measuring(&place);
        let parent = Pid::from_child(&command);
        if to_group { kill_process_group(parent, kind) } else { kill_process(parent, kind) }.unwrap();
        let ended = wait(command);
        assert_eq!(ended.code, Some(3), "a second signal would end it at once: {}", ended.stderr);
        ended.says(&["warning: incomplete: it was interrupted", "make them with: opscope export out/profiler/run"]);
        assert_eq!(ended.json()["complete"], false);
        assert!(place.json("out/profiler/run/manifest.json")["records"].is_object(), "the recording is closed");
    }
}

#[test]
fn the_job_dies_with_its_parent() {
    let place = Workplace::new();
    let mut command = measuring(&place);
    let child = child_of(&command);
    command.kill().unwrap();
    // The child has the other ends of the pipes, so they are closed when it dies.
    let ended = wait(command);
    assert_eq!(ended.code, None, "{ended:?}");
    let stat = format!("/proc/{}/stat", child.as_raw_nonzero());
    let state = || std::fs::read_to_string(&stat).ok()?.rsplit(") ").next()?.chars().next();
    while !matches!(state(), None | Some('Z' | 'X')) {
        std::thread::yield_now();
    }
    assert!(place.path("out/profiler/run.partial").exists() && !place.path("out/profiler/run").exists());
}

#[test]
fn the_word_between_parent_and_child_is_refused_from_a_user() {
    let place = Workplace::new();
    let digits = model(DIGITS);
    let ended = end(&mut place.command(&["--isolated-by=1,2", "benchmark", &digits, "--isolate"]));
    ended.refused(1, &["the process that started this one is gone"]);
    let ended = end(&mut place.command(&["--isolated-by=x", "benchmark", &digits, "--isolate"]));
    ended.refused(2, &["write --isolate"]);
}
