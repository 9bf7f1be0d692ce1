//! Hostile files: each file that a command reads is replaced by a pipe without a writer, and then by a file that is
//! larger than any disk. The command must end soon, with little memory. If it needed the file, it must say what is
//! wrong.

mod process;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use process::onnx::{node, with_data};
use process::{Ended, Workplace, model};
use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// What replaces a file.
#[derive(Debug, Clone, Copy)]
enum Hostile {
    Pipe,
    /// A file of 1 TiB that begins like the file that it replaces.
    Endless,
}

impl Hostile {
    const ALL: [Self; 2] = [Self::Pipe, Self::Endless];

    fn put(self, path: &Path) {
        let beginning = fs::read(path).unwrap_or_default();
        let _ = fs::remove_file(path);
        match self {
            Self::Pipe => mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).unwrap(),
            Self::Endless => {
                fs::write(path, &beginning[..beginning.len() / 2]).unwrap();
                fs::File::options().write(true).open(path).unwrap().set_len(1 << 40).unwrap();
            }
        }
    }
}

/// Runs a command that must end. Its memory is so limited that it cannot read an endless file.
fn ends(place: &Workplace, arguments: &[&str], what: &str) -> Ended {
    let mut command = place.command(arguments);
    command.env("XDG_CACHE_HOME", place.path("caches")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child: Child = command.spawn().unwrap();
    let pid = Pid::from_child(&child);
    let most = Some(8 << 30);
    prlimit(Some(pid), Resource::As, Rlimit { current: most, maximum: most }).unwrap();
    let (done, ended) = channel();
    thread::spawn(move || done.send(child.wait_with_output().unwrap()));
    // Only a command that hangs takes this long.
    let output = match ended.recv_timeout(Duration::from_secs(180)) {
        Err(RecvTimeoutError::Timeout) => {
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            panic!("{arguments:?} hangs with {what}");
        }
        output => output.unwrap(),
    };
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let ended = Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
    assert!(ended.code.is_some(), "{arguments:?} with {what}: {ended:?}");
    for word in ["panicked", "memory allocation"] {
        assert!(!ended.stderr.contains(word), "{arguments:?} with {what}: {ended:?}");
    }
    ended
}

/// Returns a place with a model, and with everything that a benchmark writes, below `out`.
fn place() -> Workplace {
    let place = Workplace::new();
    fs::copy(model("digits_cnn.onnx"), place.path("m.onnx")).unwrap();
    place
}

/// Puts hostile files into a place, one by one, and runs commands with each.
fn each(files: &[&str], commands: &[&[&str]], prepare: impl Fn(&Workplace)) {
    for hostile in Hostile::ALL {
        for file in files {
            let place = place();
            prepare(&place);
            let path = place.path(file);
            assert!(path.is_file(), "{file}");
            hostile.put(&path);
            for command in commands {
                let ended = ends(&place, command, &format!("{hostile:?} as {file}"));
                // The rest of a recording can still be inspected.
                let may_succeed = command[0] == "inspect";
                assert!(may_succeed || ended.code != Some(0), "{command:?} with {hostile:?} as {file}: {ended:?}");
                assert!(ended.stderr.len() + ended.stdout.len() < 1 << 16, "{command:?} with {hostile:?} as {file}");
            }
        }
    }
}

#[test]
fn the_files_of_a_recording() {
    let prepare = |place: &Workplace| {
        place.benchmark_well(&["m.onnx", "--loop", "5", "--profiler", "-o", "out", "-od", "run"]);
    };
    let run = "out/profiler/run";
    let files = ["manifest.json", "names.jsonl", "records.bin"].map(|file| format!("{run}/{file}"));
    let commands: [&[&str]; 4] = [
        &["export", run, "--output", "exported"],
        &["inspect", run],
        &["report", run, "--output", "page.html"],
        &["compare", run, run],
    ];
    each(&files.each_ref().map(String::as_str), &commands, prepare);
}

#[test]
fn the_files_of_a_dump() {
    let prepare = |place: &Workplace| {
        place.benchmark_well(&["m.onnx", "--dump", "-o", "out", "-od", "run"]);
    };
    let run = "out/dump/run";
    let files = ["manifest.json", "index.jsonl"].map(|file| format!("{run}/{file}"));
    each(&files.each_ref().map(String::as_str), &[&["inspect", run], &["compare", run, run]], prepare);
}

#[test]
fn a_dump_in_progress_whose_process_is_gone() {
    // A new run replaces it, and removes the files that opscope wrote. The index lists them.
    for hostile in Hostile::ALL {
        for file in ["manifest.json", "index.jsonl"] {
            let place = place();
            place.benchmark_well(&["m.onnx", "--dump", "-o", "out", "-od", "run"]);
            fs::rename(place.path("out/dump/run"), place.path("out/dump/run.partial")).unwrap();
            hostile.put(&place.path("out/dump/run.partial").join(file));
            let again = ["benchmark", "m.onnx", "--loop", "1", "--dump", "-o", "out", "-od", "run", "--overwrite"];
            ends(&place, &again, &format!("{hostile:?} as {file}"));
        }
    }
}

#[test]
fn what_is_named_on_the_command_line() {
    let prepare = |place: &Workplace| {
        place.benchmark_well(&["m.onnx", "--dump", "-o", "out", "-od", "run"]);
        let acl = r#"{"dump": {"dump_path": "dumped", "dump_list": [{"model_name": "m"}]}}"#;
        place.write("acl.json", acl);
        place.write("ranges.info", "image:1,1,8,8\n");
        place.write("names.csv", "a,b\n");
        place.write("commands", "run\n");
        place.write("buffer", b"OPSCREC\x01");
        let output = fs::read(model("digits_cnn.output.probabilities.npy")).unwrap();
        place.write("given.npy", output);
    };
    let cases: [(&str, &[&str]); 9] = [
        ("m.onnx", &["benchmark", "m.onnx"]),
        ("m.onnx", &["inspect", "m.onnx"]),
        ("acl.json", &["benchmark", "m.onnx", "--acl-json-path", "acl.json"]),
        ("ranges.info", &["benchmark", "m.onnx", "--dym-shape-range", "ranges.info"]),
        ("given.npy", &["benchmark", "m.onnx", "--input", "given.npy"]),
        ("names.csv", &["compare", "out/dump/run", "out/dump/run", "--mapping", "names.csv"]),
        ("commands", &["debug", "m.onnx", "--batch", "-x", "commands"]),
        ("buffer", &["recover", "buffer"]),
        ("out/run_summary.json", &["report", "out/run_summary.json", "--output", "page.html"]),
    ];
    for (file, command) in cases {
        each(&[file], &[command], prepare);
    }
}

#[test]
fn results_that_are_kept_for_the_next_benchmark() {
    let kept = |place: &Workplace| -> Vec<PathBuf> {
        let files = place.tree("caches").into_iter().map(|name| place.path("caches").join(name));
        files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
    };
    for hostile in Hostile::ALL {
        let place = place();
        let benchmark =
            ["benchmark", "m.onnx", "--loop", "1", "--verify", "on", "--profiler", "-o", "out", "--engine", "tract"];
        let measure = ["machine"];
        assert_eq!(ends(&place, &benchmark, "nothing").code, Some(0));
        assert_eq!(ends(&place, &measure, "nothing").code, Some(0));
        let files = kept(&place);
        assert!(files.len() >= 2, "a verification and a measurement of the machine: {files:?}");
        files.iter().for_each(|file| hostile.put(file));
        for command in [&benchmark[..], &measure] {
            let ended = ends(&place, command, &format!("{hostile:?} in the cache"));
            assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        }
    }
}

#[test]
fn data_beside_a_model() {
    for hostile in Hostile::ALL {
        let place = Workplace::new();
        let (port, sum) = (["4"], [node("sum", "Add", &["x", "w"], &["y"])]);
        place.write("m.onnx", with_data(&[("x", &port)], &sum, &[("w", &[4], "data.bin")], &[("y", &port)]));
        place.write("data.bin", [0; 16]);
        assert_eq!(ends(&place, &["benchmark", "m.onnx", "--loop", "1"], "nothing").code, Some(0));
        hostile.put(&place.path("data.bin"));
        let ended = ends(&place, &["benchmark", "m.onnx", "--loop", "1"], &format!("{hostile:?} as data"));
        // An endless file has the bytes that are needed. Mapping it succeeds if there are enough addresses.
        assert!(ended.code != Some(0) || matches!(hostile, Hostile::Endless), "{ended:?}");
    }
}
