//! Names and words for a shell and for files.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns a word in the form that a shell reads back: unchanged if no character has a meaning for a shell, and quoted
/// otherwise. Control characters and bytes that are not UTF-8 are escaped as in `$'\xff'` (POSIX.1-2024, 2.2.4).
pub fn shell_word(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref();
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+:=@%,".contains(letter);
    match word.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        Some(text) if !text.contains(char::is_control) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => escaped(word.as_bytes()),
    }
}

/// Returns a path in the form that a shell and then a command read back. If it begins like an option, a directory is
/// put before it.
pub fn shell_path(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    match path.as_os_str().as_bytes().starts_with(b"-") {
        true => shell_word(Path::new(".").join(path)),
        false => shell_word(path),
    }
}

fn escaped(bytes: &[u8]) -> String {
    let mut word = "$'".to_owned();
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\'' | '\\' => word.extend(['\\', letter]),
                // Three octal digits need no terminator, whatever follows.
                letter if letter.is_control() => {
                    letter.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| octal(&mut word, byte));
                }
                letter => word.push(letter),
            }
        }
        chunk.invalid().iter().for_each(|&byte| octal(&mut word, byte));
    }
    word + "'"
}

fn octal(word: &mut String, byte: u8) {
    write!(word, "\\{byte:03o}").expect("a text has room");
}

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
    use std::process::Command;

    use super::*;

    #[test]
    fn a_word_that_a_shell_takes_as_it_is_is_not_quoted() {
        for word in ["out/profiler/20260101", "--dym-batch=8", "größe.onnx", "x:2,3"] {
            assert_eq!(shell_word(word), word);
        }
        assert_eq!(shell_word("a b"), "'a b'");
        assert_eq!(shell_path("--output"), "./--output");
    }

    #[test]
    fn control_characters_alone_are_octal_numbers() {
        assert_eq!(shell_word("it's\u{9b}7 größer\n\\"), "$'it\\'s\\302\\2337 größer\\012\\\\'");
        assert_eq!(shell_word(OsStr::from_bytes(b"\xff7 a")), "$'\\3777 a'");
    }

    #[test]
    fn a_shell_reads_every_word_back() {
        let words: [&[u8]; 9] = [
            b"",
            b"a b; touch $HOME `x`",
            b"it's",
            b"!!*?[a]{b,c}~",
            b"\"\\\\n",
            b"two\nlines\t1",
            b"\x1b[31mred",
            b"\xff\xfe7",
            "it's\u{9b}31m\\".as_bytes(),
        ];
        for word in words {
            let quoted = shell_word(OsStr::from_bytes(word));
            assert!(!quoted.contains(char::is_control), "{quoted:?}");
            let read = Command::new("bash").arg("-c").arg(format!("printf %s {quoted}")).output().expect("a shell");
            assert_eq!(read.stdout, word, "{quoted}");
        }
    }

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
