use std::fmt::Display;

/// Writes a line to stderr.
pub fn say(text: impl Display) {
    opscope_border::report("libopscope_ort", text);
}
