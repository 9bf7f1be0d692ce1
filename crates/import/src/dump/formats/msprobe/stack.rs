//! `stack.json`: the lines of the program that called each function.

use std::collections::HashMap;
use std::path::Path;

use opscope_files::open_regular;
use opscope_onnx::SourceLine;
use serde_json::Value;

use crate::dump::files::json::{Shortened, entries};

/// Returns the innermost line of each call that is not in PyTorch's or msprobe's own files.
pub(super) fn lines(path: &Path, most: u64) -> HashMap<String, SourceLine> {
    let mut lines = HashMap::new();
    let Ok(file) = open_regular(path) else { return lines };
    // It only adds to what is known, so a damaged one is used as far as it goes.
    let _ = entries(Shortened::new(file, most), None, |key, value| {
        // By the stack the calls that have it, or by the call its stack.
        let (calls, stack) = match (value.get(0), value.get(1)) {
            (Some(Value::Array(calls)), Some(stack @ Value::Array(_))) => (Some(calls.clone()), stack.clone()),
            _ => (None, value),
        };
        let frames = stack.as_array().into_iter().flatten().filter_map(Value::as_str);
        let Some(line) = frames.filter_map(line).find(|line| !is_library(&line.file)) else { return };
        match calls {
            Some(calls) => {
                lines.extend(calls.iter().filter_map(|call| Some((call.as_str()?.to_owned(), line.clone()))));
            }
            None => drop(lines.insert(key, line)),
        }
    });
    lines
}

/// Reads `File /home/train.py, line 14, in forward, \n x = self.fc(x)`.
fn line(text: &str) -> Option<SourceLine> {
    let (file, rest) = text.strip_prefix("File ")?.split_once(", line ")?;
    let (number, rest) = rest.split_once(',')?;
    let code = rest.split_once('\n').map(|(_, code)| code.trim().to_owned()).filter(|code| !code.is_empty());
    Some(SourceLine { file: file.trim_matches('"').to_owned(), line: number.trim().parse().ok()?, code })
}

fn is_library(file: &str) -> bool {
    ["/site-packages/torch/", "/site-packages/torch_npu/", "/site-packages/mindspore/", "/msprobe/"]
        .iter()
        .any(|library| file.contains(library))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_file_line_and_code() {
        let line = line("File /a/train.py, line 14, in <module>, \n y = m(x)").unwrap();
        assert_eq!((line.file.as_str(), line.line, line.code.as_deref()), ("/a/train.py", 14, Some("y = m(x)")));
    }
}
