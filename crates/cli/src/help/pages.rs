//! What the help and the manual say about each command beside its options: examples, the most used options, and files.

/// A command's part of the help.
pub struct Page {
    /// Its name; empty for `opscope` itself.
    pub command: &'static str,
    /// Command lines, each with its purpose.
    pub examples: [(&'static str, &'static str); 3],
    /// The options that `-h` shows, each with a short text: options by their long names, and arguments by their ids.
    pub options: &'static [(&'static str, &'static str)],
    /// The files that it reads or writes.
    pub files: &'static [(&'static str, &'static str)],
}

/// Every command's page.
pub const PAGES: [Page; 18] = [
    Page {
        command: "",
        examples: [
            ("opscope model.onnx", "how fast the model is"),
            ("opscope model.onnx --profiler --output out", "where the time goes"),
            ("opscope debug model.onnx", "stop at operators, see tensors"),
        ],
        options: &[],
        files: &[(CACHE, "what machines reach, and which plans are right, for the next command")],
    },
    Page {
        command: "benchmark",
        examples: [
            ("opscope benchmark model.onnx --loop 100", "time 100 runs"),
            ("opscope benchmark model.onnx --profiler --output out", "where the time goes"),
            ("opscope benchmark model.onnx --dump --output out", "every operator's outputs"),
        ],
        options: &[
            ("model_file", "the ONNX file"),
            ("input", "files of inputs, with commas between them"),
            ("dym-shape", "shapes of inputs, such as \"x:1,3,224,224\""),
            ("loop", "measured runs"),
            ("duration", "how long to measure"),
            ("engine", "tract or onnxruntime"),
            ("profiler", "record where the time goes"),
            ("dump", "write every output of every operator"),
            ("output", "the directory of results"),
            ("json", "print one JSON document"),
        ],
        files: &[
            (
                "OUT/RUN_summary.json",
                "times of the run, with --output OUT; RUN is the date and time or --output-dirname",
            ),
            ("OUT/RUN/", "the outputs of the model"),
            ("OUT/profiler/RUN/", "the recording of --profiler, with its timelines and tables"),
            ("OUT/dump/RUN/", "the tensors of --dump"),
        ],
    },
    Page {
        command: "export",
        examples: [
            ("opscope export out/profiler/first", "timelines and tables"),
            ("opscope export out/profiler/first --format perfetto", "only the timeline"),
            ("opscope export out/profiler/* --into set", "Parquet, of many"),
        ],
        options: &[
            ("sources", "recordings, or a dump for parquet"),
            ("format", "one format only"),
            ("output", "where to"),
            ("into", "append to a set of Parquet tables"),
            ("json", "the paths as a JSON array"),
            ("quiet", "print only errors"),
        ],
        files: &[
            ("timeline.pftrace, timeline.json", "timelines, for ui.perfetto.dev and for chrome://tracing"),
            ("op_summary.csv, op_statistic.csv, api_statistic.csv", "tables of operators, operator types and calls"),
        ],
    },
    Page {
        command: "import",
        examples: [
            ("opscope import trace.json.gz --output out", "a trace of torch.profiler"),
            ("opscope import report.sqlite --run 're:step'", "ranges of yours as runs"),
            ("opscope import dump_msprobe --output out", "a dump"),
        ],
        options: &[
            ("sources", "a trace, several ranks of one, or a dump"),
            ("run", "which ranges are runs"),
            ("output", "the directory for results"),
            ("output-dirname", "the name of the result in it"),
            ("json", "print one JSON document"),
            ("quiet", "print only errors"),
        ],
        files: &[
            ("OUT/profiler/NAME", "the recording, with --output OUT --output-dirname NAME"),
            ("OUT/dump/NAME", "the dump"),
        ],
    },
    Page {
        command: "precision",
        examples: [
            ("opscope precision m.onnx --to fp16 --output out", "what stays fp32"),
            ("opscope precision m.onnx --to fp16 --output out --input data", "with your data"),
            ("opscope precision m.onnx --to int8 --output out --budget 10m", "in ten minutes"),
        ],
        options: &[
            ("model", "the model, in float32"),
            ("to", "fp16, bf16 or int8"),
            ("keep-within", "what the outputs must keep"),
            ("input", "files of inputs, several sets"),
            ("search", "sets that the search sees"),
            ("output", "the directory for the results"),
            ("budget", "how long it may take"),
            ("engine", "tract or onnxruntime"),
            ("json", "print one JSON document"),
        ],
        files: &[
            ("OUT/MODEL_fp16.onnx", "the model with all other operators lowered, with --output OUT"),
            ("OUT/keep.txt", "the names of the kept nodes, for other tools"),
            ("OUT/precision.json", "the result"),
            ("OUT/trials.jsonl", "what was tried; the same command goes on with it"),
        ],
    },
    Page {
        command: "compare",
        examples: [
            ("opscope compare a.onnx b.onnx --input x.npy", "run both, compare values"),
            ("opscope compare out/dump/first golden", "two dumps or directories"),
            ("opscope compare out/profiler/old out/profiler/new", "the times of two runs"),
        ],
        options: &[
            ("tensors", "a dump, a model, a recording or a summary"),
            ("reference", "what it is compared with, likewise"),
            ("input", "files of inputs for models"),
            ("tolerance", "such as 0.001"),
            ("engine", "tract or onnxruntime"),
            ("reference-engine", "the engine of the second model"),
            ("order", "graph or error"),
            ("fail-above", "code 4 if slower, such as 5%"),
            ("rows", "rows of the table"),
            ("json", "print one JSON document"),
        ],
        files: &[],
    },
    Page {
        command: "reduce",
        examples: [
            ("opscope reduce m.onnx --fails first-nonfinite -o s.onnx", "what makes a NaN"),
            ("opscope reduce m.onnx --fails crash -o s.onnx --anonymise", "to be shown"),
            ("opscope reduce s.onnx --fails crash --check", "whether it fails"),
        ],
        options: &[
            ("model", "the ONNX file"),
            ("fails", "how it fails; --help lists the ways"),
            ("input", "files of inputs, with commas between them"),
            ("output", "the file of the smaller model"),
            ("anonymise", "replace names, weights and inputs"),
            ("budget", "how long to search, such as 10m"),
            ("check", "only say whether it fails"),
            ("overwrite", "replace files that exist"),
            ("engine", "tract or onnxruntime"),
            ("json", "print one JSON document"),
        ],
        files: &[
            ("NAME.onnx", "the smaller model, at --output"),
            ("NAME.inputs.npz", "its inputs, which --input takes"),
        ],
    },
    Page {
        command: "inspect",
        examples: [
            ("opscope inspect model.onnx", "operators, parameters, inputs and outputs"),
            ("opscope inspect out/profiler/first", "where a run's time went"),
            ("opscope inspect out", "what an output directory holds"),
        ],
        options: &[
            ("path", "what to show"),
            ("operators", "list every operator of a model"),
            ("rows", "rows of the tables of a recording"),
            ("distribution", "how the times of operators are distributed"),
            ("memory", "memory over the time of a run"),
            ("check", "only say whether a dump is whole"),
            ("engine", "also let an engine load the model"),
            ("json", "print one JSON document"),
        ],
        files: &[],
    },
    Page {
        command: "report",
        examples: [
            ("opscope report out", "all of an output directory"),
            ("opscope report out/profiler/a out/profiler/b", "two runs, side by side"),
            ("opscope report out --output page.html", "under a name of your own"),
        ],
        options: &[
            ("paths", "recordings, dumps, summaries, directories"),
            ("output", "the page"),
            ("json", "its path as a JSON object"),
            ("quiet", "print only errors"),
        ],
        files: &[("report.html", "the page, which loads nothing")],
    },
    Page {
        command: "debug",
        examples: [
            ("opscope debug model.onnx --input x.npy", "a prompt; type help there"),
            ("opscope debug model.onnx --ex run --batch", "run commands, then end"),
            ("opscope debug --attach 1234", "a running --debug-server"),
        ],
        options: &[
            ("model", "the ONNX file"),
            ("input", "files of inputs, with commas between them"),
            ("dym-shape", "shapes of inputs, such as \"x:1,3,224,224\""),
            ("attach", "a program, by its number or socket"),
            ("fidelity", "exact or optimised"),
            ("engine", "tract or onnxruntime"),
            ("ex", "run this command first; repeatable"),
            ("batch", "end after the commands"),
            ("json", "print one JSON object a line"),
            ("quiet", "print results, stops and errors only"),
        ],
        files: &[],
    },
    Page {
        command: "torch",
        examples: [
            ("opscope torch dump -- python train.py", "what every module computes"),
            ("opscope torch dump --level op -- torchrun a.py", "every operator"),
            ("opscope torch watch -- python train.py", "stop at the first NaN"),
        ],
        options: &[("program", "dump or watch with its options, --, and the program")],
        files: &[("OUTPUT/dump/NAME/", "the dump; in rank-0/ and so on if there are several processes")],
    },
    Page {
        command: "dump",
        examples: [
            ("opscope dump --attach 1234", "every tensor of the next run"),
            ("opscope dump --attach 1234 --output-dirname a", "into out/dump/a"),
            ("opscope dump --attach 1234 --json", "for a script"),
        ],
        options: &[
            ("attach", "a program, by its number or socket"),
            ("output", "the directory of results"),
            ("output-dirname", "the name of the dump"),
            ("json", "print one JSON document"),
        ],
        files: &[("OUT/dump/NAME/", "the tensors of every operator")],
    },
    Page {
        command: "profile",
        examples: [
            ("opscope profile --attach 1234", "where the time goes"),
            ("opscope profile --attach 1234 --output-dirname a", "into out/profiler/a"),
            ("opscope profile --attach 1234 --json", "for a script"),
        ],
        options: &[
            ("attach", "a program, by its number or socket"),
            ("output", "the directory of results"),
            ("output-dirname", "the name of the recording"),
            ("json", "print one JSON document"),
        ],
        files: &[("OUT/profiler/NAME/", "the recording, with its timelines and tables")],
    },
    Page {
        command: "engines",
        examples: [
            ("opscope engines", "which engines there are"),
            ("opscope engines --engine-library ./lib", "with a library of your own"),
            ("opscope engines --json", "for a script"),
        ],
        options: &[("engine-library", "the file of ONNX Runtime's library"), ("json", "print one JSON document")],
        files: &[],
    },
    Page {
        command: "machine",
        examples: [
            ("opscope machine", "with one thread and with all"),
            ("opscope machine --threads 1,2", "with these numbers of threads"),
            ("opscope machine --again", "measure anew"),
        ],
        options: &[("threads", "numbers of threads"), ("again", "measure again"), ("json", "print one JSON document")],
        files: &[(CACHE, "what was measured")],
    },
    Page {
        command: "recover",
        examples: [
            ("opscope recover buffer.bin", "what is there, and what was lost"),
            ("opscope recover buffer.bin --records", "every record, one a line"),
            ("opscope recover buffer.bin --json", "for a script"),
        ],
        options: &[
            ("file", "the file of a buffer"),
            ("records", "print every record"),
            ("json", "print one JSON document"),
        ],
        files: &[],
    },
    Page {
        command: "completions",
        examples: [
            ("opscope completions bash", "source <(...) in ~/.bashrc"),
            ("opscope completions zsh", "as _opscope in $fpath"),
            ("opscope completions fish", "in ~/.config/fish/completions"),
        ],
        options: &[("shell", "the shell that reads the script")],
        files: &[],
    },
    Page {
        command: "vendor-env",
        examples: [
            ("opscope vendor-env ./my_tool", "a program of ROCm, CANN..."),
            ("opscope vendor-env bash", "a shell, for several programs"),
            ("opscope vendor-env --cuda-gdb ./my_program", "for NVIDIA's cuda-gdb"),
        ],
        options: &[
            ("cuda-gdb", "as a program that cuda-gdb debugs"),
            ("program", "the program and its arguments; without it, print what to set"),
        ],
        files: &[("PREFIX/lib/opscope/vendor/", "the libraries with vendors' names")],
    },
];

const CACHE: &str = "$XDG_CACHE_HOME/opscope/, ~/.cache/opscope/";

/// The environment variables that commands read.
pub const ENVIRONMENT: [(&str, &str); 8] = [
    ("OPSCOPE_ENGINE", "the engine where no --engine is given: tract or onnxruntime"),
    ("ORT_DYLIB_PATH", "the file of ONNX Runtime's library, where no --engine-library is given"),
    ("VIRTUAL_ENV", "the Python environment in which ONNX Runtime is looked for first"),
    ("OPSCOPE_LIB_DIR", "where libraries that are fed, such as librocprofiler-sdk.so.1, are looked for first"),
    ("XDG_CACHE_HOME", "the directory of caches; ~/.cache if not set"),
    ("XDG_RUNTIME_DIR", "the directory of debuggers' sockets"),
    ("GE_PROFILING_TO_STD_OUT", "with 1, --profiler leaves the raw recording only"),
    ("COLUMNS", "the width of texts, where the output is not a terminal"),
];

/// What each exit code means.
pub const EXIT_CODES: [(&str, &str); 5] = [
    ("0", "done"),
    ("1", "failed"),
    ("2", "wrong use or configuration"),
    ("3", "done but data incomplete"),
    ("4", "compared and different"),
];

/// Returns the page of a command.
pub fn page(command: &str) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.command == command)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::help::name_of;
    use crate::{Cli, options};

    #[test]
    fn every_example_is_a_command_line_of_its_page() {
        for page in &PAGES {
            for (line, _) in &page.examples {
                let words = options::expand(line.split(' ').map(Into::into));
                assert_eq!(words[1], if page.command.is_empty() { words[1].to_str().unwrap() } else { page.command });
                if let Err(error) = Cli::try_parse_from(words) {
                    panic!("{line}: {error}");
                }
            }
        }
    }

    #[test]
    fn every_shown_command_has_a_page_whose_options_it_has() {
        let opscope = Cli::command();
        for command in opscope.get_subcommands().filter(|command| !command.is_hide_set()) {
            let page = page(command.get_name()).unwrap_or_else(|| panic!("{} has no page", command.get_name()));
            for (name, _) in page.options {
                let has = command.get_arguments().any(|argument| name_of(argument) == *name);
                assert!(has, "{} has no {name}", page.command);
            }
        }
    }
}
