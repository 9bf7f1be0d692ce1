//! The tools, their arguments, and the words of a command that they become.

use serde_json::{Map, Value, json};

/// A call of a tool is wrong: what is wrong, and what would be right.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongCall(String);

/// What an agent reads first.
pub const INSTRUCTIONS: &str = "opscope shows what an accelerator does while it runs a model. Begin with inspect. \
benchmark says how fast a model is and which operators take the time, compare names the first operator that two sides \
compute differently, debug stops at operators and shows their tensors, precision finds what must stay in float32, reduce \
makes a model that fails small, and torch watches PyTorch programs. Every answer is what the command of the same name \
prints; help has its options.";

/// A tool.
struct Tool {
    name: &'static str,
    /// What it is for.
    purpose: &'static str,
    /// Whether it changes neither files nor programs.
    only_reads: bool,
    arguments: &'static [Argument],
    /// The words that the command begins with.
    command: &'static [&'static str],
}

/// An argument of a tool.
struct Argument {
    name: &'static str,
    purpose: &'static str,
    is_required: bool,
    becomes: Becomes,
}

/// What an argument becomes in the words of the command.
enum Becomes {
    /// A word of its own.
    Word,
    /// One of these words, before all others.
    Subcommand(&'static [&'static str]),
    /// An option with this name and the value: a text or a number.
    Option(&'static str),
    /// An option with this name, if the value is true.
    Switch(&'static str),
    /// An option with this name for each text of a list.
    Each(&'static str),
    /// The texts of a list, as words.
    Words,
    /// The texts of a list, as words behind `--`.
    Program,
}

const OPTIONS: Argument = Argument {
    name: "options",
    purpose: "more options of the command, word by word; the tool help lists them",
    is_required: false,
    becomes: Becomes::Words,
};

const fn required(name: &'static str, purpose: &'static str, becomes: Becomes) -> Argument {
    Argument { name, purpose, is_required: true, becomes }
}

const fn optional(name: &'static str, purpose: &'static str, becomes: Becomes) -> Argument {
    Argument { name, purpose, is_required: false, becomes }
}

const OUTPUT: Argument = optional("output", "the directory for results", Becomes::Option("--output"));
const BUDGET: Argument = optional("budget", "how long it may take, such as 90s or 10m", Becomes::Option("--budget"));

/// All tools.
const TOOLS: &[Tool] = &[
    Tool {
        name: "inspect",
        purpose: "What a model, a dump or a recording contains: inputs, outputs, operators, tensors with their statistics, \
                  times.",
        only_reads: true,
        arguments: &[
            required("path", "a model (.onnx), a dump, a file of one, a recording, or a run OUT/RUN", Becomes::Word),
            optional("operators", "list every operator of a model", Becomes::Switch("--operators")),
            optional("rows", "rows of the tables", Becomes::Option("--rows")),
            OPTIONS,
        ],
        command: &["inspect"],
    },
    Tool {
        name: "benchmark",
        purpose: "Run an ONNX model: how fast it is, and which operators take the time.",
        only_reads: false,
        arguments: &[
            required("model", "the ONNX file", Becomes::Word),
            optional("engine", "tract or onnxruntime", Becomes::Option("--engine")),
            optional("duration", "seconds to measure for", Becomes::Option("--duration")),
            optional("profiler", "write a recording into output", Becomes::Switch("--profiler")),
            optional("dump", "write what every operator computes into output", Becomes::Switch("--dump")),
            OUTPUT,
            OPTIONS,
        ],
        command: &["benchmark"],
    },
    Tool {
        name: "compare",
        purpose: "Compare two dumps, models, recordings or runs: name the first operator that diverges, or what became \
                  slower.",
        only_reads: true,
        arguments: &[
            required("compared", "what is judged", Becomes::Word),
            required("baseline", "what it is judged by", Becomes::Word),
            optional("rows", "rows of the table", Becomes::Option("--rows")),
            OPTIONS,
        ],
        command: &["compare"],
    },
    Tool {
        name: "debug",
        purpose: "Stop a model, or a process that can be attached to, at its operators, look at tensors, change them. The \
                  commands run in this order; then the program goes on. Such as: break NAME after if max(output[0]) > 1, \
                  run (of a process: continue), print output[0], info inputs, set output[0] = 0, where, list.",
        only_reads: false,
        arguments: &[
            optional("model", "the ONNX file to run", Becomes::Word),
            optional(
                "process",
                "the number of a process, or its socket, instead of a model",
                Becomes::Option("--attach"),
            ),
            required("commands", "the debugger's commands, in order", Becomes::Each("-ex")),
            OPTIONS,
        ],
        command: &["debug", "--batch"],
    },
    Tool {
        name: "precision",
        purpose: "Find the operators of a float32 model that must stay in float32 when the others compute in fp16, bf16 or \
                  int8, and write that model and the list. May take long; a budget ends it with the best so far, and the \
                  same call goes on.",
        only_reads: false,
        arguments: &[
            required("model", "the ONNX file, in float32", Becomes::Word),
            required("to", "fp16, bf16 or int8", Becomes::Option("--to")),
            required("output", "the directory for results", Becomes::Option("--output")),
            optional(
                "input",
                "files or directories of inputs, with commas; random without",
                Becomes::Option("--input"),
            ),
            optional("keep_within", "the target, such as cosine >= 0.999", Becomes::Option("--keep-within")),
            BUDGET,
            OPTIONS,
        ],
        command: &["precision"],
    },
    Tool {
        name: "reduce",
        purpose: "Find the smallest model that still fails in the same way, and write it with its inputs.",
        only_reads: false,
        arguments: &[
            required("model", "the ONNX file that fails", Becomes::Word),
            required(
                "fails",
                "first nonfinite, engines differ, plan differs, error 'TEXT', crash, or command 'CMD {model} {inputs}'",
                Becomes::Option("--fails"),
            ),
            required("output", "the file of the smaller model", Becomes::Option("--output")),
            optional("input", "the inputs that it fails with; random without", Becomes::Option("--input")),
            optional("anonymise", "replace names and numbers", Becomes::Switch("--anonymise")),
            BUDGET,
            OPTIONS,
        ],
        command: &["reduce"],
    },
    Tool {
        name: "torch",
        purpose: "Watch a PyTorch program: dump writes what modules or operators compute, profile records when they are \
                  executed, watch names the first NaN with its operator, module, source line and inputs. Needs the package \
                  for Python.",
        only_reads: false,
        arguments: &[
            required("what", "dump, profile or watch", Becomes::Subcommand(&["dump", "profile", "watch"])),
            optional(
                "process",
                "the number of a process that was started with OPSCOPE_TORCH=serve",
                Becomes::Option("--attach"),
            ),
            optional("program", "the program to start, word by word, instead of a process", Becomes::Program),
            optional("steps", "how many steps, or A..B of a program that is started", Becomes::Option("--steps")),
            optional("level", "of dump and profile: module or op", Becomes::Option("--level")),
            optional("statistics", "of dump: only statistics of the tensors", Becomes::Switch("--statistics")),
            optional("nonfinite", "of watch: nan or any", Becomes::Option("--nonfinite")),
            OUTPUT,
            OPTIONS,
        ],
        command: &["torch"],
    },
    Tool {
        name: "report",
        purpose: "Write one HTML page of recordings, summaries and dumps.",
        only_reads: false,
        arguments: &[required("paths", "what the page shows", Becomes::Words), OPTIONS],
        command: &["report"],
    },
    Tool {
        name: "engines",
        purpose: "The engines that can run a model here.",
        only_reads: true,
        arguments: &[],
        command: &["engines"],
    },
    Tool {
        name: "help",
        purpose: "The help of a command, with all of its options.",
        only_reads: true,
        arguments: &[required("command", "such as benchmark, compare, debug", Becomes::Word)],
        command: &["help"],
    },
];

/// Returns the tools, as the protocol lists them.
pub fn listed() -> Vec<Value> {
    TOOLS.iter().map(Tool::listed).collect()
}

/// Returns the words of the command that a call of a tool is.
///
/// # Errors
/// Returns an error if there is no such tool, or its arguments are wrong.
pub fn words(name: &str, given: &Value) -> Result<Vec<String>, WrongCall> {
    let tool = TOOLS.iter().find(|tool| tool.name == name).ok_or_else(|| {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        WrongCall(format!("there is no tool '{name}'; there are {}", names.join(", ")))
    })?;
    let none = Map::new();
    let given = match given {
        Value::Null => &none,
        Value::Object(given) => given,
        _ => return Err(WrongCall("the arguments of a tool are an object".to_owned())),
    };
    tool.words(given)
}

impl Tool {
    fn listed(&self) -> Value {
        let described = |argument: &Argument| {
            let kind = match argument.becomes {
                Becomes::Word => json!({ "type": "string" }),
                Becomes::Subcommand(words) => json!({ "type": "string", "enum": words }),
                Becomes::Option(_) => json!({ "type": ["string", "number"] }),
                Becomes::Switch(_) => json!({ "type": "boolean" }),
                Becomes::Each(_) | Becomes::Words | Becomes::Program => {
                    json!({ "type": "array", "items": { "type": "string" } })
                }
            };
            let mut schema = kind;
            schema["description"] = argument.purpose.into();
            (argument.name.to_owned(), schema)
        };
        let properties: Map<String, Value> = self.arguments.iter().map(described).collect();
        let required: Vec<&str> =
            self.arguments.iter().filter(|given| given.is_required).map(|given| given.name).collect();
        json!({
            "name": self.name,
            "description": self.purpose,
            "inputSchema": { "type": "object", "properties": properties, "required": required, "additionalProperties": false },
            "annotations": { "readOnlyHint": self.only_reads },
        })
    }

    fn words(&self, given: &Map<String, Value>) -> Result<Vec<String>, WrongCall> {
        let known = |name: &String| self.arguments.iter().any(|argument| argument.name == name);
        if let Some(other) = given.keys().find(|name| !known(name)) {
            let names: Vec<&str> = self.arguments.iter().map(|argument| argument.name).collect();
            let (tool, names) = (self.name, names.join(", "));
            return Err(WrongCall(format!("{tool} has no argument '{other}'; it has {names}")));
        }
        let mut words: Vec<String> = self.command.iter().map(|&word| word.to_owned()).collect();
        let mut behind: Vec<String> = Vec::new();
        let mut program = None;
        for argument in self.arguments {
            let value = match given.get(argument.name) {
                None | Some(Value::Null) if argument.is_required => {
                    let (tool, name, purpose) = (self.name, argument.name, argument.purpose);
                    return Err(WrongCall(format!("{tool} needs '{name}': {purpose}")));
                }
                None | Some(Value::Null) => continue,
                Some(value) => value,
            };
            let wrong =
                |right: &str| WrongCall(format!("'{}' of {} is {right}, not {value}", argument.name, self.name));
            let text = || match value {
                Value::String(text) => Ok(text.clone()),
                Value::Number(number) => Ok(number.to_string()),
                _ => Err(wrong("a text or a number")),
            };
            let texts = || -> Result<Vec<String>, WrongCall> {
                let items = value.as_array().ok_or_else(|| wrong("a list of texts"))?;
                items
                    .iter()
                    .map(|item| item.as_str().map(str::to_owned).ok_or_else(|| wrong("a list of texts")))
                    .collect()
            };
            match argument.becomes {
                Becomes::Word => behind.push(text()?),
                Becomes::Subcommand(known) => match value.as_str().filter(|word| known.contains(word)) {
                    Some(word) => words.insert(self.command.len(), word.to_owned()),
                    None => return Err(wrong(&format!("one of {}", known.join(", ")))),
                },
                Becomes::Option(name) => words.push(format!("{name}={}", text()?)),
                Becomes::Switch(name) => match value.as_bool() {
                    Some(true) => words.push(name.to_owned()),
                    Some(false) => {}
                    None => return Err(wrong("true or false")),
                },
                Becomes::Each(name) => {
                    let texts = texts()?;
                    words.extend(texts.into_iter().flat_map(|text| [name.to_owned(), text]));
                }
                Becomes::Words => words.extend(texts()?),
                Becomes::Program => program = Some(texts()?),
            }
        }
        // A path may begin with a hyphen, but what follows `--` is a program there.
        match program {
            Some(program) => words.extend(std::iter::once("--".to_owned()).chain(program)),
            None if behind.iter().any(|word| word.starts_with('-')) => {
                words.extend(std::iter::once("--".to_owned()).chain(behind))
            }
            None => words.extend(behind),
        }
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, given: Value) -> Result<String, WrongCall> {
        words(name, &given).map(|words| words.join(" "))
    }

    #[test]
    fn arguments_become_the_words_of_a_command() {
        let inspect = json!({ "path": "m.onnx", "operators": true, "rows": 5, "options": ["--engine=tract"] });
        assert_eq!(of("inspect", inspect).unwrap(), "inspect --operators --rows=5 --engine=tract m.onnx");
        assert_eq!(of("inspect", json!({ "path": "-x.onnx", "operators": false })).unwrap(), "inspect -- -x.onnx");
        let debug = json!({ "process": 12, "commands": ["break a", "continue"] });
        assert_eq!(of("debug", debug).unwrap(), "debug --batch --attach=12 -ex break a -ex continue");
        let watch = json!({ "what": "watch", "program": ["python", "train.py", "--bf16"], "nonfinite": "any" });
        assert_eq!(of("torch", watch).unwrap(), "torch watch --nonfinite=any -- python train.py --bf16");
        let precision = json!({ "model": "m.onnx", "to": "fp16", "output": "out", "keep_within": "argmax >= 1" });
        let words = "precision --to=fp16 --output=out --keep-within=argmax >= 1 m.onnx";
        assert_eq!(of("precision", precision).unwrap(), words);
        let reduce = json!({ "model": "m.onnx", "fails": "crash", "output": "s.onnx", "anonymise": true });
        assert_eq!(of("reduce", reduce).unwrap(), "reduce --fails=crash --output=s.onnx --anonymise m.onnx");
        assert_eq!(of("engines", Value::Null).unwrap(), "engines");
    }

    #[test]
    fn what_is_wrong_names_what_would_be_right() {
        for (name, given, told) in [
            ("inspekt", json!({}), "there is no tool 'inspekt'; there are inspect, benchmark, "),
            ("inspect", json!({}), "inspect needs 'path': a model"),
            ("inspect", json!({ "path": ["a"] }), "'path' of inspect is a text or a number, not [\"a\"]"),
            (
                "inspect",
                json!({ "path": "a", "operators": "yes" }),
                "'operators' of inspect is true or false, not \"yes\"",
            ),
            (
                "inspect",
                json!({ "path": "a", "row": 3 }),
                "inspect has no argument 'row'; it has path, operators, rows, options",
            ),
            ("torch", json!({ "what": "run" }), "'what' of torch is one of dump, profile, watch, not \"run\""),
            ("debug", json!({ "commands": "break" }), "'commands' of debug is a list of texts, not \"break\""),
            ("engines", json!([]), "the arguments of a tool are an object"),
        ] {
            let error = of(name, given).unwrap_err().to_string();
            assert!(error.starts_with(told), "{error}");
        }
    }

    #[test]
    fn there_are_at_most_ten_tools_and_each_argument_has_a_schema() {
        let listed = listed();
        assert!(listed.len() <= 10);
        for tool in listed {
            let schema = &tool["inputSchema"];
            let required = schema["required"].as_array().unwrap();
            assert!(
                required.iter().all(|name| !schema["properties"][name.as_str().unwrap()]["description"].is_null()),
                "{tool}"
            );
        }
    }
}
