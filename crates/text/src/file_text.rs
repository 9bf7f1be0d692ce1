/// The maximum number of bytes of a name in a file name, so that the whole file name stays below the limit of file
/// systems.
const LONGEST: usize = 120;

/// Returns a name in the characters that are valid in file names everywhere: letters and digits of any script, and
/// `- _ + .`, but no leading dot. All other characters, including separators of directories, become `_`. Separators
/// around the name are removed.
///
/// Different names may become the same text, and the text may be empty.
pub fn file_text(name: &str) -> String {
    let keep = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '+' | '.') { c } else { '_' };
    let mut text = String::new();
    for c in name.trim_matches('/').chars().map(keep) {
        if text.len() + c.len_utf8() > LONGEST {
            break;
        }
        text.push(if text.is_empty() && c == '.' { '_' } else { c });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_a_name_is_only_text() {
        for (name, text) in [
            ("/layer.0/attention/MatMul", "layer.0_attention_MatMul"),
            ("../../etc/passwd", "_._.._etc_passwd"),
            ("StatefulPartitionedCall:0", "StatefulPartitionedCall_0"),
            ("卷积/1", "卷积_1"),
            (".hidden", "_hidden"),
            ("", ""),
        ] {
            assert_eq!(file_text(name), text);
        }
        assert_eq!(file_text(&"é".repeat(100)).len(), LONGEST);
    }
}
