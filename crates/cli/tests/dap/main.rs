//! `opscope dap`: a scripted editor debugs models, from `initialize` to `disconnect`.

mod adapter;
#[path = "../process/mod.rs"]
mod process;

use adapter::{Adapter, framed};
use base64::Engine;
use process::running::Running;
use process::{Workplace, model};
use serde_json::{Value, json};

/// Starts a session with the digits, up to where an editor sets its breakpoints.
fn digits(launch: Value) -> Adapter {
    let mut editor = Adapter::start();
    let can = editor.done("initialize", json!({ "adapterID": "opscope", "linesStartAt1": true }));
    assert_eq!(
        (&can["supportsConfigurationDoneRequest"], &can["supportsReadMemoryRequest"]),
        (&json!(true), &json!(true))
    );
    let image = format!("--input={}", model("digits_cnn.input.image.npy"));
    let mut arguments = json!({ "program": model("digits_cnn.onnx"), "args": [image] });
    arguments.as_object_mut().unwrap().extend(launch.as_object().unwrap().clone());
    editor.done("launch", arguments);
    editor.event("initialized");
    editor
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

/// Returns the scopes of the innermost frame of a stopped run: a number for each name.
fn scope(editor: &mut Adapter, name: &str) -> Value {
    let frames = editor.done("stackTrace", json!({ "threadId": 1 }));
    let scopes = editor.done("scopes", json!({ "frameId": frames["stackFrames"][0]["id"] }));
    let scopes = scopes["scopes"].as_array().unwrap();
    scopes.iter().find(|scope| scope["name"] == name).unwrap_or_else(|| panic!("{scopes:?}"))["variablesReference"]
        .clone()
}

#[test]
fn a_run_stops_at_a_type_of_operators_shows_its_tensors_and_ends() {
    let mut editor = digits(json!({}));
    let set =
        editor.done("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "MaxPool" }, { "name": "Nix" }] }));
    assert_eq!(set["breakpoints"][0]["verified"], true);
    assert_eq!(set["breakpoints"][1]["verified"], false);
    assert!(set["breakpoints"][1]["message"].as_str().unwrap().contains("Nix"), "{set}");
    editor.done("configurationDone", json!({}));
    let stopped = editor.event("stopped");
    assert_eq!((&stopped["reason"], &stopped["threadId"]), (&json!("breakpoint"), &json!(1)));
    assert_eq!(stopped["hitBreakpointIds"], json!([set["breakpoints"][0]["id"]]));
    assert_eq!(names(&editor.done("threads", json!({}))["threads"]), ["run 0 of digits_cnn"]);
    let frames = editor.done("stackTrace", json!({ "threadId": 1 }));
    assert_eq!(names(&frames["stackFrames"])[0], "before /pool2/MaxPool (MaxPool)");
    // The listing has a line for each operator, and the frame is on the line of this one.
    let source = &frames["stackFrames"][0]["source"];
    let listing = editor.done("source", json!({ "sourceReference": source["sourceReference"] }));
    let line = frames["stackFrames"][0]["line"].as_u64().unwrap() as usize;
    assert!(listing["content"].as_str().unwrap().lines().nth(line - 1).unwrap().contains("/pool2/MaxPool"));
    let inputs = scope(&mut editor, "Inputs");
    let inputs = editor.done("variables", json!({ "variablesReference": inputs }));
    let input = &inputs["variables"][0];
    assert_eq!((&input["name"], &input["type"]), (&json!("input[0]"), &json!("float32 [8, 16, 8, 8]")));
    assert_eq!(input["indexedVariables"], 8192);
    let page =
        json!({ "variablesReference": input["variablesReference"], "filter": "indexed", "start": 8186, "count": 10 });
    let page = editor.done("variables", page);
    assert_eq!(names(&page["variables"])[0], "[7, 15, 7, 2]");
    assert_eq!(page["variables"].as_array().unwrap().len(), 6, "the tensor ends there");
    let named = json!({ "variablesReference": input["variablesReference"], "filter": "named" });
    let named = editor.done("variables", named);
    assert_eq!(names(&named["variables"]), ["min", "max", "mean", "std", "l2", "NaN", "infinite", "zeros"]);
    assert_eq!(named["variables"][0]["value"], "0", "it comes out of a Relu");
    editor.done("continue", json!({ "threadId": 1 }));
    assert!(editor.refused("variables", json!({ "variablesReference": 1 })).contains("has continued"));
    editor.event("stopped");
    editor.done("continue", json!({ "threadId": 1 }));
    assert!(
        editor.event("output")["output"].as_str().unwrap().starts_with("Run 0 ended: probabilities float32 [8, 10]")
    );
    assert_eq!(editor.event("exited")["exitCode"], 0);
    editor.event("terminated");
    editor.done("disconnect", json!({}));
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn lines_of_the_listing_conditions_and_hits_decide_where_a_run_stops() {
    let mut editor = digits(json!({ "runs": 3 }));
    let sources = editor.done("loadedSources", json!({}));
    let source = sources["sources"][0].clone();
    let listing = editor.done("source", json!({ "source": source, "sourceReference": source["sourceReference"] }));
    let lines: Vec<&str> = listing["content"].as_str().unwrap().lines().collect();
    let line = |name: &str| lines.iter().position(|line| line.contains(name)).unwrap() + 1;
    let wanted = json!({ "source": source, "breakpoints": [
        { "line": line("/pool2/MaxPool"), "hitCondition": "2" },
        { "line": line("/pool3/MaxPool"), "condition": "max(output[0]) > 1e9" },
        { "line": line("/pool3/MaxPool"), "condition": "max(" },
        { "line": 1000 },
        { "line": line("/pool2/MaxPool"), "hitCondition": "often" },
    ] });
    let set = editor.done("setBreakpoints", wanted);
    let verified: Vec<bool> =
        set["breakpoints"].as_array().unwrap().iter().map(|one| one["verified"] == true).collect();
    assert_eq!(verified, [true, true, false, false, false], "{set}");
    let known = &set["breakpoints"][0]["source"];
    assert_eq!((&known["path"], &known["sourceReference"]), (&source["path"], &source["sourceReference"]));
    assert!(set["breakpoints"][4]["message"].as_str().unwrap().contains("to stop at the third one"));
    editor.done("configurationDone", json!({}));
    // The first hit passes, and the other condition never holds.
    assert_eq!(editor.event("stopped")["threadId"], 2);
    let emptied = editor.done("setBreakpoints", json!({ "source": source, "breakpoints": [] }));
    assert_eq!(emptied["breakpoints"], json!([]));
    editor.done("continue", json!({ "threadId": 2 }));
    assert_eq!(editor.event("exited")["exitCode"], 0);
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn a_listing_that_an_editor_knows_by_its_path_alone_has_breakpoints() {
    let mut editor = digits(json!({}));
    let source = editor.done("loadedSources", json!({}))["sources"][0].clone();
    let path = source["path"].as_str().unwrap();
    assert_eq!(path, format!("opscope/{}/digits_cnn.onnx (operators)", source["sourceReference"]));
    // nvim-dap sends the name of its buffer, and no reference.
    for shown in [format!("dap-src://1/2/{path}"), format!("/home/someone/{path}")] {
        let wanted = json!({ "source": { "path": shown }, "breakpoints": [{ "line": 7 }] });
        let set = editor.done("setBreakpoints", wanted);
        assert_eq!((&set["breakpoints"][0]["verified"], &set["breakpoints"][0]["line"]), (&json!(true), &json!(7)));
        assert_eq!(set["breakpoints"][0]["source"]["path"], shown);
    }
    let other =
        json!({ "source": { "path": "opscope/77/digits_cnn.onnx (operators)" }, "breakpoints": [{ "line": 7 }] });
    assert_eq!(editor.done("setBreakpoints", other)["breakpoints"][0]["verified"], false);
    editor.done("configurationDone", json!({}));
    editor.event("stopped");
    let frames = editor.done("stackTrace", json!({ "threadId": 1 }));
    assert_eq!(names(&frames["stackFrames"])[0], "before /pool2/MaxPool (MaxPool)");
    // Both were the same listing, so one breakpoint is left.
    editor.done("continue", json!({ "threadId": 1 }));
    assert_eq!(editor.event("exited")["exitCode"], 0);
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn a_number_of_hits_is_reached_or_exceeded_or_met_once() {
    for (hits, stops) in
        [("2", vec![2, 3, 4]), (">=3", vec![3, 4]), ("> 3", vec![4]), ("== 3", vec![3]), ("==1", vec![1])]
    {
        let mut editor = digits(json!({ "runs": 4 }));
        let wanted = json!({ "breakpoints": [{ "name": "/pool2/MaxPool", "hitCondition": hits }] });
        assert_eq!(editor.done("setFunctionBreakpoints", wanted)["breakpoints"][0]["verified"], true, "{hits}");
        editor.done("configurationDone", json!({}));
        for thread in stops {
            assert_eq!(editor.event("stopped")["threadId"], thread, "{hits}");
            editor.done("continue", json!({ "threadId": thread }));
        }
        assert_eq!(editor.event("exited")["exitCode"], 0);
        assert_eq!(editor.close(), Some(0));
    }
    let mut editor = digits(json!({}));
    for hits in ["0", "== 0", "= 3", "% 2", "!= 2", "< 2", ">"] {
        let wanted = json!({ "breakpoints": [{ "name": "/pool2/MaxPool", "hitCondition": hits }] });
        let set = editor.done("setFunctionBreakpoints", wanted);
        assert!(
            set["breakpoints"][0]["message"].as_str().unwrap().contains("is not a number of hits"),
            "{hits}: {set}"
        );
    }
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn what_is_replaced_is_what_the_run_computes_with() {
    let mut editor = digits(json!({ "stopOnEntry": true }));
    editor.done("configurationDone", json!({}));
    assert_eq!(editor.event("stopped")["reason"], "entry");
    let inputs = scope(&mut editor, "Inputs");
    let whole = editor.done("setVariable", json!({ "variablesReference": inputs, "name": "input[0]", "value": "3" }));
    assert_eq!(whole["value"], "float32 [8, 1, 8, 8]");
    let listed = editor.done("variables", json!({ "variablesReference": inputs }));
    assert!(listed["variables"][0]["value"].as_str().unwrap().contains("replaced"), "{listed}");
    let tensor = &listed["variables"][0]["variablesReference"];
    let one = json!({ "variablesReference": tensor, "name": "[0, 0, 0, 1]", "value": "-2.5" });
    assert_eq!(editor.done("setVariable", one)["value"], "-2.5");
    let value = |editor: &mut Adapter, expression: &str| editor.done("evaluate", json!({ "expression": expression }));
    assert_eq!(value(&mut editor, "input[0][0, 0, 0, 1]")["result"], "-2.5");
    assert_eq!(value(&mut editor, "max(input[0])")["result"], "3");
    let row = value(&mut editor, "input[0][0, 0, 0]");
    assert_eq!(row["result"], "float32 [8]\n[ 3.  -2.5  3.   3.   3.   3.   3.   3. ]");
    assert_eq!(row["indexedVariables"], 8);
    let weights = scope(&mut editor, "Weights");
    let weight = json!({ "variablesReference": weights, "name": "weight[0]", "value": "0" });
    assert!(editor.refused("setVariable", weight).contains("weights cannot be replaced"));
    let wrong = json!({ "variablesReference": inputs, "name": "input[0]", "value": "many" });
    assert!(editor.refused("setVariable", wrong).contains("neither a number nor an npy file"));
    for expression in ["output[7]", "input[", "nothing(input[0])", ""] {
        assert!(!editor.refused("evaluate", json!({ "expression": expression })).is_empty());
    }
    editor.done("disconnect", json!({ "terminateDebuggee": true }));
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn a_tensor_is_described_by_numbers_and_its_bytes_are_read_in_parts() {
    let mut editor = digits(json!({ "stopOnEntry": true }));
    editor.done("configurationDone", json!({}));
    editor.event("stopped");
    let inputs = scope(&mut editor, "Inputs");
    let tensor = editor.done("variables", json!({ "variablesReference": inputs }))["variables"][0].clone();
    for (element, value) in [("[0, 0, 0, 0]", "1.5"), ("[0, 0, 0, 1]", "nan"), ("[7, 0, 7, 7]", "-4")] {
        let one = json!({ "variablesReference": tensor["variablesReference"], "name": element, "value": value });
        editor.done("setVariable", one);
    }
    let whole = editor.done("opscope/tensor", json!({ "expression": "input[0]" }));
    let statistics = &whole["statistics"];
    assert_eq!((&statistics["dtype"], &statistics["shape"]), (&json!("float32"), &json!([8, 1, 8, 8])));
    assert_eq!((&statistics["min"], &statistics["max"], &statistics["nan"]), (&json!(-4.0), &json!(1.5), &json!(1)));
    let histogram = &whole["histogram"];
    assert_eq!(histogram["bins"][0], json!({ "from": -4.0, "to": -8.0, "count": 1 }));
    let counted: u64 = histogram["bins"].as_array().unwrap().iter().map(|bin| bin["count"].as_u64().unwrap()).sum();
    assert_eq!((counted, &histogram["non_finite"]), (511, &json!(1)));

    let mut read = |memory: &Value, offset: i64, count: u64| {
        editor.done("readMemory", json!({ "memoryReference": memory, "offset": offset, "count": count }))
    };
    let memory = &tensor["memoryReference"];
    assert_eq!(
        read(memory, 0, 8),
        json!({ "address": "0x0", "data": encoded(&[1.5, f32::NAN].map(f32::to_le_bytes).concat()), "unreadableBytes": 0 })
    );
    // A part of an element, at the end of the tensor and behind it.
    assert_eq!(
        read(memory, 2046, 10),
        json!({ "address": "0x7fe", "data": encoded(&(-4f32).to_le_bytes()[2..]), "unreadableBytes": 8 })
    );
    assert_eq!(read(memory, 3, 4)["data"], encoded(&[0x3f, 0, 0, 0xc0]));
    assert_eq!(read(memory, 1 << 40, 16), json!({ "address": "0x10000000000", "data": "", "unreadableBytes": 16 }));
    assert_eq!(read(memory, i64::MAX, 1 << 20)["unreadableBytes"], 1 << 20);
    assert_eq!(read(memory, -3, 16), json!({ "address": "0x0", "unreadableBytes": 3 }));
    assert_eq!(read(&whole["memoryReference"], 0, 2048)["unreadableBytes"], 0);
    let part = editor.done("opscope/tensor", json!({ "expression": "input[0][7, 0, 6:, 7]" }));
    assert_eq!(part["statistics"]["shape"], json!([2]));
    let one = editor.done("evaluate", json!({ "expression": "input[0][7, 0, 7, 7]" }));
    for (memory, offset) in [(&part["memoryReference"], 4), (&one["memoryReference"], 0)] {
        let asked = json!({ "memoryReference": memory, "offset": offset, "count": 4 });
        assert_eq!(editor.done("readMemory", asked)["data"], encoded(&(-4f32).to_le_bytes()));
    }

    let mut refused =
        |memory: Value, count: u64| editor.refused("readMemory", json!({ "memoryReference": memory, "count": count }));
    assert!(refused(memory.clone(), (1 << 20) + 1).contains("at most 1048576 bytes"));
    assert!(refused(json!("input"), 4).contains("'input' is not the memory of a tensor"));
    assert!(refused(json!(inputs.to_string()), 4).contains("inputs have no memory"));
    assert!(refused(json!("4000"), 4).contains("has continued"));
    for expression in ["max(input[0])", "output[7]", "input[0][99]", ""] {
        assert!(!editor.refused("opscope/tensor", json!({ "expression": expression })).is_empty());
    }
    editor.done("next", json!({ "threadId": 1 }));
    assert!(editor.refused("readMemory", json!({ "memoryReference": memory, "count": 4 })).contains("has continued"));
    assert_eq!(editor.close(), Some(0));
}

fn encoded(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[test]
fn steps_go_to_the_next_operator_and_to_the_end_of_this_one() {
    let mut editor = digits(json!({ "stopOnEntry": true }));
    editor.done("configurationDone", json!({}));
    let place = |editor: &mut Adapter| {
        editor.event("stopped");
        let frames = editor.done("stackTrace", json!({ "threadId": 1, "levels": 1 }));
        assert_eq!(frames["stackFrames"].as_array().unwrap().len(), 1);
        frames["stackFrames"][0]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(place(&mut editor), "before /conv1/Conv (Conv)");
    let frame = editor.done("stackTrace", json!({ "threadId": 1 }))["stackFrames"][0]["id"].clone();
    editor.done("stepOut", json!({ "threadId": 1 }));
    assert_eq!(place(&mut editor), "after /conv1/Conv (Conv)");
    // An editor that is slower than the run asks for the frame that was left.
    assert_eq!(editor.done("scopes", json!({ "frameId": frame })), json!({ "scopes": [] }));
    let output = scope(&mut editor, "Outputs");
    let info = editor.done("dataBreakpointInfo", json!({ "variablesReference": output, "name": "output[0]" }));
    assert_eq!(info["description"], "output[0] of /conv1/Conv");
    let data = json!({ "breakpoints": [{ "dataId": info["dataId"], "condition": "max(output[0]) > 0" }] });
    assert_eq!(editor.done("setDataBreakpoints", data)["breakpoints"][0]["verified"], true);
    editor.done("next", json!({ "threadId": 1 }));
    assert!(place(&mut editor).starts_with("before "));
    assert!(editor.refused("next", json!({ "threadId": 9 })).contains("run 8 is not stopped"));
    editor.done("continue", json!({ "threadId": 1 }));
    editor.event("terminated");
    assert_eq!(editor.close(), Some(0), "the end of the input ends the session, too");
}

#[test]
fn the_first_nan_is_an_exception_with_the_operator_that_made_it() {
    let mut editor = Adapter::start();
    editor.done("initialize", json!({}));
    let input = format!("--input={}", model("fixtures/nan.input.x.npy"));
    editor.done("launch", json!({ "program": model("fixtures/nan.onnx"), "args": [input] }));
    let refused = editor.done("setExceptionBreakpoints", json!({ "filters": ["nan", "thunder"] }));
    assert_eq!(refused["breakpoints"][1]["verified"], false);
    editor.done("configurationDone", json!({}));
    let stopped = editor.event("stopped");
    assert_eq!(stopped["reason"], "exception");
    let info = editor.done("exceptionInfo", json!({ "threadId": 1 }));
    assert_eq!(info["exceptionId"], "NaN");
    assert!(info["description"].as_str().unwrap().contains("Log"), "{info}");
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn a_model_that_pytorch_exported_is_shown_with_its_modules() {
    let mut editor = Adapter::start();
    editor.done("initialize", json!({ "linesStartAt1": false }));
    editor.done("launch", json!({ "program": model("torch/network.onnx") }));
    editor.done("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "layers.1.attn*" }] }));
    editor.done("configurationDone", json!({}));
    editor.event("stopped");
    let frames = editor.done("stackTrace", json!({ "threadId": 1 }));
    let shown = names(&frames["stackFrames"]).join("\n");
    assert!(shown.contains("layers.1.attn") && shown.contains("\nlayers.1 ("), "{shown}");
    // The program's file is not on this machine, so the line is that of the listing. This editor counts lines from 0.
    let (source, line) = (&frames["stackFrames"][0]["source"], frames["stackFrames"][0]["line"].as_u64().unwrap());
    let listing = editor.done("source", json!({ "source": source }));
    let operator = names(&frames["stackFrames"])[0].split(' ').nth(1).unwrap().to_owned();
    assert!(listing["content"].as_str().unwrap().lines().nth(line as usize).unwrap().contains(&operator), "{operator}");
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn a_program_that_runs_is_attached_to_and_left_as_it_was() {
    let place = Workplace::new();
    let running = Running::start(&place, &["--debug-server=socket"]);
    let mut editor = Adapter::start();
    editor.done("initialize", json!({}));
    editor.done("attach", json!({ "socket": place.path("socket") }));
    editor.event("initialized");
    editor.done("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "Softmax" }] }));
    editor.done("configurationDone", json!({}));
    let stopped = editor.event("stopped");
    let thread = &stopped["threadId"];
    let frames = editor.done("stackTrace", json!({ "threadId": thread }));
    assert_eq!(names(&frames["stackFrames"])[0], "before /Softmax (Softmax)");
    editor.done("next", json!({ "threadId": thread }));
    editor.event("stopped");
    // The editor disconnects while the program is stopped.
    editor.done("disconnect", json!({}));
    assert_eq!(editor.close(), Some(0));
    // The program continues, so another editor can stop it again.
    let mut editor = Adapter::start();
    editor.done("initialize", json!({}));
    editor.done("attach", json!({ "socket": place.path("socket") }));
    editor.done("configurationDone", json!({}));
    editor.done("pause", json!({ "threadId": 1 }));
    assert_eq!(editor.event("stopped")["reason"], "pause");
    assert_eq!(editor.close(), Some(0), "an editor that dies leaves it, too");
    assert_eq!(running.interrupt().code, Some(3), "its result is one of an interrupted benchmark, and it has run on");
}

#[test]
fn what_cannot_be_debugged_is_refused_with_a_reason_and_the_session_goes_on() {
    let mut editor = Adapter::start();
    assert!(editor.refused("threads", json!({})).contains("launch or attach comes first"));
    assert!(editor.refused("launch", json!({ "program": "no/such.onnx" })).contains("no/such.onnx"));
    assert!(editor.refused("launch", json!({ "args": [] })).contains("program"));
    let wrong = json!({ "program": model("digits_cnn.onnx"), "args": ["--no-such-option"] });
    assert!(editor.refused("launch", wrong).contains("--no-such-option"));
    assert!(editor.refused("attach", json!({})).contains("processId"));
    assert!(editor.refused("attach", json!({ "processId": 4_000_000 })).contains("4000000"));
    editor.done("launch", json!({ "program": model("digits_cnn.onnx") }));
    assert!(editor.refused("launch", json!({ "program": model("digits_cnn.onnx") })).contains("one program"));
    assert!(editor.refused("gotoTargets", json!({})).contains("no request 'gotoTargets'"));
    assert!(editor.refused("source", json!({ "sourceReference": 77 })).contains("no source 77"));
    assert!(editor.refused("stackTrace", json!({ "threadId": 0 })).contains("from 1"));
    assert!(editor.refused("pause", json!({})).contains("no run is active"));
    // Bytes that are not a message end the session, because nothing that follows could be understood.
    editor.send_raw(b"hello\r\n\r\n");
    assert_eq!(editor.close(), Some(2));
}

#[test]
fn messages_may_come_in_pieces_and_together() {
    let mut editor = Adapter::start();
    let threads = framed(&json!({ "seq": 90, "type": "request", "command": "threads" }).to_string());
    let (front, back) = threads.split_at(7);
    editor.send_raw(front);
    editor.send_raw(&[back, &threads].concat());
    assert_eq!(editor.ask("threads", json!({}))["success"], false);
}
