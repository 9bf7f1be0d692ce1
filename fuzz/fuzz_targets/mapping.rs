//! Any text as a mapping of names: pairs, or an error with a text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use opscope_dump::{Mapping, Pattern, Position, Runs};

fuzz_target!(|text: &str| {
    if let Err(error) = Mapping::parse(text) {
        assert!(!error.to_string().is_empty());
    }
    let _ = (text.parse::<Runs>(), text.parse::<Position>());
    let (pattern, name) = text.split_once('\n').unwrap_or((text, text));
    if let Ok(pattern) = Pattern::parse(pattern) {
        pattern.matches(name);
    }
});
