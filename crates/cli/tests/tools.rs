//! Tools for rocprofiler-sdk, with models that the command runs. The tool is compiled as C and as C++. A consumer
//! receives the same runs as the library that runs the tool.

mod process;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use opscope_c_programs::consumers::{Call, SDK, V2, calls, consumer, library, of};
use opscope_c_programs::sdk_trace::Trace;
use opscope_c_programs::{Language, Library, Program};
use process::onnx::{FLOAT32, chain};
use process::{Ended, Workplace, end, fixture, model, once};
use rustix::process::{Pid, Signal, kill_process};

/// Returns the directory of librocprofiler-sdk.so.1.
fn sdk() -> &'static Path {
    Library::RocprofilerSdk.files()
}

/// A place whose directory `lib` has the library that runs tools, and a consumer.
struct Tools {
    place: Workplace,
}

impl Tools {
    fn new() -> Self {
        let tools = Self { place: Workplace::new() };
        fs::create_dir(tools.place.path("lib")).unwrap();
        symlink(sdk().join(SDK), tools.place.path("lib").join(SDK)).unwrap();
        consumer(&tools.place.path("lib").join(V2), &[]);
        tools
    }

    /// Compiles the tool under this name.
    fn tool(&self, name: &str, language: Language, options: &[&str]) -> String {
        compile_tool(&self.place.path(name), language, options);
        format!("./{name}")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.command(&[&["benchmark"], arguments, once(arguments)].concat());
        command.env("OPSCOPE_LIB_DIR", "lib").env("TOOL_LOG", "tool.log").env("CONSUMER_LOG", "consumer.log");
        for variable in ["ROCP_TOOL_LIBRARIES", "LD_LIBRARY_PATH", "LD_PRELOAD"] {
            command.env_remove(variable);
        }
        command
    }

    /// Runs the command. It must succeed.
    #[track_caller]
    fn benchmark(&self, arguments: &[&str]) -> Ended {
        let ended = end(&mut self.command(arguments));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended
    }

    fn trace(&self) -> Trace {
        Trace::of(&calls(&self.place.path("tool.log")), "tool")
    }

    /// Returns the calls that the consumer received.
    fn told(&self) -> Vec<Call> {
        calls(&self.place.path("consumer.log"))
    }
}

fn compile_tool(to: &Path, language: Language, options: &[&str]) {
    let source = Library::RocprofilerSdk.root().join("tests/models/tool.c");
    let tool = Program::of(Library::RocprofilerSdk, source).uses(Library::Roctx);
    // Several tools in one process share their visible symbols.
    tool.options(&["-fvisibility=hidden", "-lrocprofiler-sdk"]).options(options).compile_shared(language, to);
}

/// Checks everything that a tool wrote about a benchmark of this many runs, including warm-ups.
#[track_caller]
fn traced_all(tools: &Tools, runs: usize) {
    let (trace, told) = (tools.trace(), tools.told());
    assert_eq!(of(&told, "run_end").len(), runs);
    let dispatches = of(&told, "dispatch_end").len();
    assert!(dispatches > 0 && dispatches.is_multiple_of(runs), "{dispatches} dispatches in {runs} runs");
    assert_eq!(trace.all("dispatch").len(), dispatches);
    trace.is_all_of(&told);
    trace.callbacks_say_the_same();
    assert_eq!(trace.code_objects_come_and_go(), of(&told, "plan_made").len());
    let lines = |kind| trace.all(kind).len();
    assert_eq!((lines("configure"), lines("initialize"), lines("finalize")), (1, 1, 1));
    assert_eq!((trace.lines[0].function.as_str(), trace.lines[0].text("text")), ("configure", "1.0.0"));
    assert_eq!(trace.lines.last().unwrap().function, "finalize");
}

#[test]
fn a_tool_gets_every_dispatch_copy_and_allocation_of_every_model() {
    let tools = Tools::new();
    let tool = tools.tool("libclient.so", Language::C11, &[]);
    let models = ["digits_cnn.onnx", "tiny_transformer.onnx", "token_classifier.onnx"].map(model);
    let fixtures =
        ["loop.onnx", "if.onnx", "scalar.onnx", "data_dependent.onnx", "long_names.onnx", "empty_tensor.onnx"];
    for path in models.into_iter().chain(fixtures.map(fixture)) {
        for log in ["tool.log", "consumer.log"] {
            fs::remove_file(tools.place.path(log)).ok();
        }
        tools.benchmark(&[&path, "--loop", "3", "--tool", &tool]);
        traced_all(&tools, 4);
    }
}

#[test]
fn a_tool_in_c_and_in_cxx_named_by_the_option_or_by_the_variable_gets_the_same() {
    let path = model("digits_cnn.onnx");
    for language in Language::ALL {
        let tools = Tools::new();
        let tool = tools.tool("libclient.so", language, &[]);
        let shown = tools.benchmark(&[&path, "--loop", "2", "--tool", &tool, "--debug"]);
        shown.says(&["librocprofiler-sdk.so.1", " runs the tool ./libclient.so"]);
        traced_all(&tools, 3);

        let tools = Tools::new();
        let tool = tools.tool("libclient.so", language, &[]);
        let ended = end(tools.command(&[&path, "--loop", "2"]).env("ROCP_TOOL_LIBRARIES", tool));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        traced_all(&tools, 3);
    }
}

#[test]
fn the_kernels_have_the_names_of_the_operators_in_the_file() {
    let tools = Tools::new();
    let tool = tools.tool("libclient.so", Language::C11, &[]);
    let path = model("digits_cnn.onnx");
    tools.benchmark(&[&path, "--tool", &tool]);
    let shown = end(&mut tools.place.command(&["inspect", &path, "--json"])).json();
    let operators: Vec<&str> =
        shown["operators"].as_array().unwrap().iter().map(|operator| operator["name"].as_str().unwrap()).collect();
    let trace = tools.trace();
    let symbols = trace.all("call_symbol");
    assert!(symbols.iter().all(|symbol| operators.contains(&symbol.text("name"))), "{symbols:?}");
    let softmax = symbols.iter().find(|symbol| symbol.text("name") == "/Softmax").expect("its last kernel");
    let dispatches = trace.all("dispatch");
    let is_softmax = |line: &&&Call| line.number("kernel") == softmax.number("kernel");
    let grid = |line: &Call| ["x", "y", "z"].map(|size| line.number(size));
    assert_eq!(dispatches.iter().filter(is_softmax).map(|line| grid(line)).collect::<Vec<_>>(), [[10, 1, 1]; 2]);
    let uri = trace.all("call_object")[0].text("uri").to_owned();
    assert_eq!(uri, format!("file://{path}#offset=0&size={}", fs::metadata(&path).unwrap().len()));
    let copied: Vec<_> =
        trace.all("copy").iter().map(|copy| (copy.number("operation"), copy.number("bytes"))).collect();
    assert_eq!(copied, [(2, 64 * 4), (3, 10 * 4), (2, 64 * 4), (3, 10 * 4)]);
}

#[test]
fn runs_on_several_threads_are_traced_on_these_threads() {
    let tools = Tools::new();
    let tool = tools.tool("libclient.so", Language::C11, &[]);
    tools.benchmark(&[&model("digits_cnn.onnx"), "--loop", "40", "--threads", "4", "--tool", &tool]);
    let runs = of(&tools.told(), "run_end").len();
    traced_all(&tools, runs);
}

#[test]
fn buffers_alone_and_callbacks_alone_work() {
    let tools = Tools::new();
    let tool = tools.tool("libclient.so", Language::C11, &["-DSERVICES=1"]);
    tools.benchmark(&[&model("digits_cnn.onnx"), "--loop", "5", "--tool", &tool]);
    let trace = tools.trace();
    assert_eq!(trace.all("dispatch").len(), of(&tools.told(), "dispatch_end").len());
    assert!(trace.all("dispatch").iter().all(|line| line.number("kernel") > 0), "kernels have ids all the same");
    assert!(!trace.lines.iter().any(|line| line.function.starts_with("call_")));

    let tools = Tools::new();
    let tool = tools.tool("libclient.so", Language::C11, &["-DSERVICES=2"]);
    tools.benchmark(&[&model("digits_cnn.onnx"), "--loop", "5", "--tool", &tool]);
    let trace = tools.trace();
    assert_eq!(trace.all("call_dispatch").len(), 3 * of(&tools.told(), "dispatch_end").len());
    assert_eq!(trace.all("call_copy").len(), 2 * of(&tools.told(), "copy").len());
    assert_eq!(trace.all("call_allocation").len(), 2 * of(&tools.told(), "allocation").len());
    assert!(trace.all("batch").is_empty());
}

#[test]
fn a_tool_does_not_change_the_results() {
    let tools = Tools::new();
    let tool = tools.tool("libclient.so", Language::Cxx17, &[]);
    let input = model("token_classifier.input.input_ids.npy");
    let path = model("token_classifier.onnx");
    let fixed = [&path, "--input", &input, "--output", "out", "--outfmt", "npy", "--quiet"];
    let without = tools.benchmark(&[&fixed[..], &["--output-dirname", "without"]].concat());
    let with = tools.benchmark(&[&fixed[..], &["--output-dirname", "with", "--tool", &tool]].concat());
    assert_eq!((with.stderr.as_str(), without.stderr.as_str()), ("", ""));
    let files = tools.place.tree("out/without");
    assert!(!files.is_empty());
    assert_eq!(tools.place.tree("out/with"), files);
    for file in files {
        let read = |run: &str| fs::read(tools.place.path(&format!("out/{run}/{file}"))).unwrap();
        assert_eq!(read("with"), read("without"), "{file}");
    }
    // A wrong model is the same error as without a tool, and the tool is finalized.
    let ended = end(&mut tools.command(&["missing.onnx", "--tool", &tool]));
    ended.refused(2, &["missing.onnx"]);
    assert_eq!(tools.trace().all("finalize").len(), 2);
}

#[test]
fn several_tools_run_at_once_and_each_gets_everything() {
    let tools = Tools::new();
    let first = tools.tool("libfirst.so", Language::C11, &["-DNAME=\"first\""]);
    let second = tools.tool("libsecond.so", Language::Cxx17, &["-DNAME=\"second\""]);
    let third = tools.tool("libthird.so", Language::Cxx17, &["-DNAME=\"third\"", "-DSERVICES=1"]);
    let path = model("digits_cnn.onnx");
    // The last option names the first tool again.
    let mut command = tools.command(&[&path, "--loop", "4", "--tool", &first, "--tool", &second, "--tool", &first]);
    let ended = end(command.env("ROCP_TOOL_LIBRARIES", &third));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let (lines, told) = (calls(&tools.place.path("tool.log")), tools.told());
    for (priority, name) in ["first", "second"].iter().enumerate() {
        let trace = Trace::of(&lines, name);
        trace.is_all_of(&told);
        trace.callbacks_say_the_same();
        assert_eq!(trace.all("configure").len(), 1);
        assert_eq!(trace.all("configure")[0].number("priority"), priority as u64);
    }
    let dispatches = of(&told, "dispatch_end").len();
    assert_eq!(Trace::of(&lines, "third").all("dispatch").len(), dispatches);
}

#[test]
fn a_tool_gives_dispatches_external_correlation_ids() {
    let tools = Tools::new();
    let tool = tools.tool("libclient.so", Language::C11, &["-DEXTERNAL"]);
    tools.benchmark(&[&model("digits_cnn.onnx"), "--loop", "3", "--tool", &tool]);
    traced_all(&tools, 4);
    let trace = tools.trace();
    for line in trace.all("dispatch") {
        assert_eq!(line.number("external"), 1000 + line.number("internal"), "{line:?}");
    }
    assert!(trace.all("copy").iter().all(|line| line.number("external") == 0));
}

#[test]
fn a_tool_that_stops_itself_gets_nothing_more() {
    let tools = Tools::new();
    let tool = tools.tool("libclient.so", Language::C11, &["-DSTOP_AFTER=40"]);
    tools.benchmark(&[&model("digits_cnn.onnx"), "--loop", "6", "--tool", &tool]);
    let trace = tools.trace();
    let ids: Vec<u64> = trace.all("dispatch").iter().map(|line| line.number("dispatch")).collect();
    assert_eq!(ids, (1..=40).collect::<Vec<_>>());
    assert!(of(&tools.told(), "dispatch_end").len() > 100);
    let last = trace.all("call_dispatch").last().unwrap().number("dispatch");
    assert_eq!(last, 40);
}

#[test]
fn a_tool_that_has_no_interest_or_throws_does_not_stop_the_benchmark() {
    let path = model("digits_cnn.onnx");
    for language in Language::ALL {
        let tools = Tools::new();
        let tool = tools.tool("libclient.so", language, &["-DRETURNS_NULL"]);
        let ended = tools.benchmark(&[&path, "--tool", &tool]);
        assert_eq!(ended.stderr, "", "{ended:?}");
        let kinds: Vec<String> = tools.trace().lines.into_iter().map(|line| line.function).collect();
        assert_eq!(kinds, ["configure"]);
    }
    for (throws, says) in [
        ("-DTHROWS=1", ["rocprofiler_configure", "threw char const*"]),
        ("-DTHROWS=2", ["the initialization of a tool", "threw char const*"]),
        ("-DTHROWS=3", ["a tracing callback", "threw int"]),
    ] {
        let tools = Tools::new();
        let tool = tools.tool("libclient.so", Language::Cxx17, &[throws]);
        tools.benchmark(&[&path, "--loop", "3", "--tool", &tool]).says(&says);
        assert_eq!(of(&tools.told(), "run_end").len(), 4);
    }
}

/// A library that never ends when its process exits.
const ENDLESS: &str = r#"
#include "opscope_producer.h"
#include <fcntl.h>
#include <unistd.h>
static int state;
int opscope_attach_producer(opscope_producer_t *table)
{
    table->consumer = &state;
    return OPSCOPE_ATTACHED;
}
__attribute__((destructor)) static void end(void)
{
    close(open("ending", O_CREAT | O_WRONLY, 0600));
    for (;;) {
        pause();
    }
}
"#;

/// A tool that never returns from its finalization. It creates a file when the finalization begins.
const SPINS: &str = r#"
#include <fcntl.h>
#include <unistd.h>
#include <rocprofiler-sdk/registration.h>
static int initialize(rocprofiler_client_finalize_t function, void *data)
{
    (void)function, (void)data;
    return 0;
}
static void finalize(void *data)
{
    (void)data;
    close(open("ending", O_CREAT | O_WRONLY, 0600));
    for (volatile int spins = 1; spins;) {
    }
}
rocprofiler_tool_configure_result_t *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
                                                           rocprofiler_client_id_t *id)
{
    static rocprofiler_tool_configure_result_t result = {sizeof result, initialize, finalize, NULL};
    (void)version, (void)text, (void)priority, (void)id;
    return &result;
}
"#;

#[test]
fn a_tool_that_spins_in_its_finalization_does_not_outlive_the_first_signal() {
    let tools = Tools::new();
    let include = Library::RocprofilerSdk.include();
    library(&tools.place.path("libspins.so"), SPINS, &["-I", include.to_str().unwrap()]);
    let digits = model("digits_cnn.onnx");
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let mut command = tools.command(&[&digits, "--loop", "1", "--tool", "./libspins.so"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while !tools.place.path("ending").exists() {
            assert!(child.try_wait().unwrap().is_none(), "it ended although its tool did not");
            std::thread::yield_now();
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.starts_with("ended before these libraries had ended: ") && stderr.contains(SDK), "{stderr}");
        fs::remove_file(tools.place.path("ending")).unwrap();
    }
}

#[test]
fn a_library_that_does_not_end_is_named_by_the_first_signal_which_ends_the_process() {
    let place = Workplace::new();
    library(&place.path("lib").join(V2), ENDLESS, &[]);
    let digits = model("digits_cnn.onnx");
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let mut command = place.command(&["benchmark", &digits, "--loop", "1"]);
        command.env("OPSCOPE_LIB_DIR", "lib").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        while !place.path("ending").exists() {
            assert!(child.try_wait().unwrap().is_none(), "it ended although a library did not");
            std::thread::yield_now();
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert_eq!(
            stderr,
            format!("ended before these libraries had ended: {}\n", place.path("lib").join(V2).display())
        );
        assert!(!output.stdout.is_empty(), "what was measured is printed");
        fs::remove_file(place.path("ending")).unwrap();
    }
}

/// A constructor that never ends, with the loader's lock held.
const INITIALISING: &str = r#"
#include <fcntl.h>
#include <unistd.h>
int opscope_attach_producer(void) { return 0; }
int rocprofiler_configure(void) { return 0; }
int OrtGetApiBase(void) { return 0; }
__attribute__((constructor)) static void begin(void)
{
    close(open("initialising", O_CREAT | O_WRONLY, 0600));
    for (;;) {
        pause();
    }
}
"#;

#[test]
fn a_signal_ends_the_process_at_once_while_a_library_initialises_itself() {
    let tools = Tools::new();
    let place = &tools.place;
    library(&place.path("libendless.so"), INITIALISING, &[]);
    fs::create_dir(place.path("with")).unwrap();
    symlink(place.path("libendless.so"), place.path("with").join(V2)).unwrap();
    let digits = model("digits_cnn.onnx");
    let engine = ["--engine", "onnxruntime", "--engine-library", "./libendless.so"];
    let cases = [
        ("lib", &engine[..], "loading the model"),
        ("lib", &["--tool", "./libendless.so"], "loading libraries"),
        ("with", &[], "loading libraries"),
    ];
    // If a thread comes too late for the loader's lock, that shows in about half of the runs, so the cases are
    // repeated.
    for (kind, code) in [(Signal::INT, 130), (Signal::TERM, 143)].repeat(6) {
        for (directory, arguments, doing) in cases {
            let mut command = tools.command(&[&[digits.as_str()], arguments].concat());
            command.env("OPSCOPE_LIB_DIR", directory).stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            while !place.path("initialising").exists() {
                assert!(child.try_wait().unwrap().is_none(), "it ended although a library did not load");
                std::thread::yield_now();
            }
            kill_process(Pid::from_child(&child), kind).unwrap();
            let output = child.wait_with_output().unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert_eq!((output.status.code(), stderr), (Some(code), format!("interrupted while {doing}\n")));
            fs::remove_file(place.path("initialising")).unwrap();
        }
    }
}

#[test]
fn a_library_that_does_not_end_after_the_first_signal_is_waited_for_only_for_a_while() {
    let place = Workplace::new();
    library(&place.path("lib").join(V2), ENDLESS, &[]);
    place.write("chain.onnx", chain(20_000, "Add", FLOAT32));
    let mut command = place.command(&["benchmark", "chain.onnx", "--debug", "--verify", "off"]);
    command.env("OPSCOPE_LIB_DIR", "lib").env("OPSCOPE_ENGINE", "tract").stderr(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("planning") {
        assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "it ended before it planned: {said}");
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143), "{said}");
    assert!(place.path("ending").exists(), "its library was told of the end");
    let library = place.path("lib").join(V2);
    let says = [
        "interrupted while planning".to_owned(),
        format!("ended before these libraries had ended: {}\n", library.display()),
    ];
    says.iter().for_each(|text| assert!(said.contains(text), "{said}"));
}

#[test]
fn a_tool_that_cannot_be_loaded_is_an_error_if_the_option_names_it_and_a_message_if_the_variable_does() {
    let tools = Tools::new();
    let code = "int missing(void);\nint rocprofiler_configure(void);\nint (*early)(void) = missing;\n\
                int rocprofiler_configure(void) { return early(); }\n";
    library(&tools.place.path("libclient.so"), code, &[]);
    let why = ["the tool ", "libclient.so cannot be loaded: ", "missing"];
    let mut command = tools.command(&[&model("digits_cnn.onnx")]);
    let ended = end(command.env("ROCP_TOOL_LIBRARIES", "./libclient.so"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.says(&why);
    assert_eq!(of(&tools.told(), "run_end").len(), 2);
    let ended = end(&mut tools.command(&[&model("digits_cnn.onnx"), "--tool", "libclient.so"]));
    ended.refused(2, &why);
    ended.says(&["--tool libclient.so: ", "does not run it; the lines above say why"]);
}

#[test]
fn what_cannot_be_a_tool_is_an_error_before_anything_runs() {
    let tools = Tools::new();
    let path = model("digits_cnn.onnx");
    let good = tools.tool("libgood.so", Language::C11, &[]);
    tools.place.write("text.so", "no library");
    library(&tools.place.path("libother.so"), "int other;\n", &[]);
    let refused = |tools: &Tools, arguments: &[&str], says: &[&str]| {
        let ended = end(&mut tools.command(&[&[path.as_str(), "--output", "out"], arguments].concat()));
        ended.refused(2, says);
        for log in ["tool.log", "consumer.log", "out"] {
            assert!(!tools.place.path(log).exists(), "{log}: {ended:?}");
        }
    };
    let lib = "were looked for in lib, ";
    refused(&tools, &["--tool", "./no.so"], &["--tool ./no.so: there is no such file; ", "such as ./libclient.so"]);
    refused(
        &tools,
        &["--tool", "text.so"],
        &["--tool text.so: it is not a shared library (", "such as ./libclient.so"],
    );
    refused(
        &tools,
        &["--tool", "lib"],
        &["--tool lib: it is not a shared library (it is not a regular file but a directory)"],
    );
    let no_tool = ["it is not a tool for ", SDK, "a tool of rocprofiler-sdk exports rocprofiler_configure", lib];
    refused(&tools, &["--tool", "libother.so"], &no_tool);
    // A good tool does not make the command accept a wrong one.
    refused(&tools, &["--tool", &good, "--tool", "libother.so"], &no_tool);
    let both =
        ["not all tools can be used:", "--tool no.so: there is no such file", "--tool libother.so: it is not a tool"];
    refused(&tools, &["--tool", "no.so", "--tool", "libother.so"], &both);

    // Without the library that runs tools, and with a vendor's.
    let nowhere = ["no library that runs tools was found", "was looked for in lib, ", "OPSCOPE_LIB_DIR"];
    fs::remove_file(tools.place.path("lib").join(SDK)).unwrap();
    refused(&tools, &["--tool", &good], &nowhere);
    library(&tools.place.path("lib").join(SDK), "int vendor;\n", &[]);
    refused(&tools, &["--tool", &good], &nowhere);
}

#[test]
fn an_installed_command_finds_the_library_in_lib_and_takes_a_name_without_a_directory() {
    for directory in ["lib", "lib/opscope/vendor"] {
        let tools = Tools::new();
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let library = place.path().join(directory);
        fs::create_dir(place.path().join("bin")).unwrap();
        fs::create_dir_all(&library).unwrap();
        let program = place.path().join("bin/opscope");
        fs::hard_link(env!("CARGO_BIN_EXE_opscope"), &program).unwrap();
        fs::copy(sdk().join(SDK), library.join(SDK)).unwrap();
        tools.tool("libclient.so", Language::C11, &[]);
        let mut command = Command::new(program);
        command.args(["benchmark", &model("digits_cnn.onnx"), "--tool", "libclient.so"]);
        command.current_dir(tools.place.path(".")).env("TOOL_LOG", "tool.log").env("XDG_CACHE_HOME", "/dev/null");
        let ended = end(&mut command);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{directory}: {ended:?}");
        assert!(!tools.trace().all("dispatch").is_empty(), "{directory}");
    }
}

#[test]
fn a_preloaded_tool_brings_its_library_with_it() {
    let tools = Tools::new();
    let tool = tools.tool("libclient.so", Language::C11, &[]);
    let mut command = tools.command(&[&model("digits_cnn.onnx"), "--loop", "2"]);
    let ended = end(command.env("LD_PRELOAD", &tool).env("LD_LIBRARY_PATH", sdk()));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    traced_all(&tools, 3);
}
