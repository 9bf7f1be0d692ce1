//! `opscope debug`: breakpoints, steps, looking and changing, by scripts in batch mode.

mod commands;
mod exceptions;
#[path = "../process/mod.rs"]
mod process;
mod runs;
mod stops;
mod tensors;

use process::{Ended, Workplace, end, model};
use serde_json::Value;

/// Runs commands in batch on a model.
fn batch(place: &Workplace, arguments: &[&str], commands: &[&str]) -> Ended {
    let commands: Vec<&str> = commands.iter().flat_map(|command| ["-ex", *command]).collect();
    end(&mut place.command(&[&["debug"], arguments, &["--batch"], &commands].concat()))
}

/// Runs commands on the digits. The script must succeed.
fn digits(place: &Workplace, commands: &[&str]) -> String {
    let (digits, image) = (model("digits_cnn.onnx"), model("digits_cnn.input.image.npy"));
    let ended = batch(place, &[&digits, "--input", &image], commands);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    ended.stdout
}

/// Runs commands on the digits, and returns the lines of JSON. The script must succeed.
fn in_json(place: &Workplace, commands: &[&str]) -> Vec<Value> {
    let ended = batch(place, &[&model("digits_cnn.onnx"), "--json"], commands);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Checks that a text has these parts, in this order.
fn in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is not, or not here, in:\n{text}"));
        rest = &rest[at + part.len()..];
    }
}
