//! Reads the origin of an operator from its node's metadata, in the form that PyTorch's exporter writes.

use crate::proto::{MetadataProto, NodeProto};
use crate::{CodeOrigin, Module, SourceLine, TracedCall};

/// Python lists, from the model to the traced call: paths of modules, and their classes.
const NAME_SCOPES: &[u8] = b"pkg.torch.onnx.name_scopes";
const CLASS_HIERARCHY: &[u8] = b"pkg.torch.onnx.class_hierarchy";
/// Python frames, the innermost last.
const STACK_TRACE: &[u8] = b"pkg.torch.onnx.stack_trace";
/// The same as the two lists: `: net.Net/layers.0: net.Block/add: aten.add.Tensor`.
const NAMESPACE: &[u8] = b"namespace";

/// Returns the origin of a node, without a display name. Returns `None` if its metadata has none. Text in another form
/// is ignored.
pub(crate) fn origin(node: &NodeProto) -> Option<CodeOrigin> {
    if node.metadata.is_empty() {
        return None;
    }
    let text = |key: &[u8]| {
        let entry: Option<&MetadataProto> = node.metadata.iter().find(|entry| entry.key == key);
        entry.and_then(|entry| std::str::from_utf8(&entry.value).ok())
    };
    let scopes = text(NAME_SCOPES).and_then(python_list);
    let (paths, classes) = match scopes {
        Some(paths) => (paths, text(CLASS_HIERARCHY).and_then(python_list).unwrap_or_default()),
        None => text(NAMESPACE).map(namespace).unwrap_or_default(),
    };
    let traced = traced(&paths, &classes);
    let modules = modules(paths, classes);
    let source = text(STACK_TRACE).and_then(source_line);
    let is_known = !modules.is_empty() || source.is_some() || traced.is_some();
    is_known.then(|| CodeOrigin { modules, source, traced, display_name: String::new() })
}

/// The last scope is the traced call, and the last class its operator.
fn traced(paths: &[String], classes: &[String]) -> Option<TracedCall> {
    let (name, target) = (paths.last()?, classes.last().filter(|_| paths.len() == classes.len())?);
    let is_call = !name.is_empty() && target.contains('.');
    is_call.then(|| TracedCall { name: name.clone(), target: target.clone() })
}

/// The last scope is the traced call, and the first is the model itself, which has no name.
fn modules(mut paths: Vec<String>, classes: Vec<String>) -> Vec<Module> {
    paths.pop();
    let mut classes = classes.into_iter();
    let modules = paths.into_iter().map(|path| Module { path, class: classes.next().unwrap_or_default() });
    modules.filter(|module| !module.path.is_empty()).collect()
}

/// Returns the paths and the classes. Slashes separate the scopes, and colons the paths from the classes.
fn namespace(text: &str) -> (Vec<String>, Vec<String>) {
    let scope = |scope: &str| {
        let (path, class) = scope.split_once(':').unwrap_or((scope, ""));
        (path.trim().to_owned(), class.trim().to_owned())
    };
    text.split('/').map(scope).unzip()
}

/// Returns the strings of a list in Python's notation, or `None` for any other text.
fn python_list(text: &str) -> Option<Vec<String>> {
    let mut rest = text.trim().strip_prefix('[')?.trim_start();
    let mut strings = Vec::new();
    while rest != "]" {
        let (string, behind) = python_string(rest)?;
        strings.push(string);
        let behind = behind.trim_start();
        rest = behind.strip_prefix(',').map(str::trim_start).or((behind == "]").then_some(behind))?;
    }
    Some(strings)
}

/// Returns the string at the beginning of a text, and what follows it.
fn python_string(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let mut chars = text[1..].char_indices();
    let mut string = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Some((string, &text[1 + at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => string.push('\n'),
                'r' => string.push('\r'),
                't' => string.push('\t'),
                letter @ ('x' | 'u' | 'U') => {
                    let digits = match letter {
                        'x' => 2,
                        'u' => 4,
                        _ => 8,
                    };
                    let number: Option<String> = (0..digits).map(|_| chars.next().map(|(_, digit)| digit)).collect();
                    let code = u32::from_str_radix(&number?, 16).ok()?;
                    string.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                other => string.push(other),
            },
            c => string.push(c),
        }
    }
    None
}

/// Returns the innermost line of a Python traceback that is not in PyTorch's own files. The lines of the innermost
/// frame come last.
fn source_line(trace: &str) -> Option<SourceLine> {
    let mut code = None;
    for line in trace.lines().rev() {
        match frame(line) {
            Some((file, _)) if is_pytorch(file) => code = None,
            Some((file, line)) => return Some(SourceLine { file: file.to_owned(), line, code }),
            None => code = Some(line.trim().to_owned()).filter(|line| !line.is_empty()).or(code),
        }
    }
    None
}

/// Returns the file and the number of a line such as `File "net.py", line 12, in forward`.
fn frame(line: &str) -> Option<(&str, u32)> {
    let (file, rest) = line.trim_start().strip_prefix("File \"")?.split_once("\", line ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((file, rest[..digits].parse().ok()?))
}

fn is_pytorch(file: &str) -> bool {
    let file = file.replace('\\', "/");
    ["site-packages/torch/", "dist-packages/torch/", "/torch/nn/modules/"].iter().any(|own| file.contains(own))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use prost::bytes::Bytes;

    use super::*;

    fn node(metadata: &[(&[u8], &str)]) -> NodeProto {
        let entry = |(key, value): &(&[u8], &str)| MetadataProto {
            key: Bytes::copy_from_slice(key),
            value: Bytes::copy_from_slice(value.as_bytes()),
        };
        NodeProto { metadata: metadata.iter().map(entry).collect(), ..NodeProto::default() }
    }

    const TRACE: &str = r#"File "train_lib/net.py", line 31, in forward
    x = layer(x)
  File "train_lib/attention.py", line 88, in forward
    attn = torch.softmax(scores, -1)
  File "/v/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 134, in forward
    return F.linear(input, self.weight, self.bias)"#;

    #[test]
    fn the_modules_are_those_between_the_model_and_the_traced_call() {
        let lists = [
            (NAME_SCOPES, "['', 'layers.0', 'layers.0.attn', 'softmax']"),
            (CLASS_HIERARCHY, "['net.Net', 'net.Block', 'net.Attention', 'aten.softmax.int']"),
            (STACK_TRACE, TRACE),
        ];
        let of_lists = origin(&node(&lists)).unwrap();
        let modules: Vec<_> = of_lists.modules.iter().map(|module| (&*module.path, &*module.class)).collect();
        assert_eq!(modules, [("layers.0", "net.Block"), ("layers.0.attn", "net.Attention")]);
        assert_eq!(of_lists.source.unwrap().to_string(), "train_lib/attention.py:88  attn = torch.softmax(scores, -1)");

        let namespace = ": net.Net/layers.0: net.Block/layers.0.attn: net.Attention/softmax: aten.softmax.int";
        assert_eq!(origin(&node(&[(NAMESPACE, namespace)])).unwrap().modules, of_lists.modules);
    }

    #[test]
    fn metadata_of_others_is_no_origin() {
        assert_eq!(origin(&node(&[])), None);
        assert_eq!(origin(&node(&[(b"note", "['', 'layers.0', 'x']")])), None);
        assert_eq!(origin(&node(&[(NAME_SCOPES, "['', 'add']"), (STACK_TRACE, "nothing")])), None);
        let only_pytorch = "File \"/x/dist-packages/torch/nn/modules/conv.py\", line 5, in forward\n  return x";
        assert_eq!(origin(&node(&[(STACK_TRACE, only_pytorch)])), None);
    }

    #[test]
    fn lists_are_read_as_python_prints_them() {
        let list = |text| python_list(text);
        assert_eq!(list("[]"), Some(vec![]));
        assert_eq!(list(r#"['a', "it's", 'b\'c\\d\n\x41\u00e9']"#).unwrap(), ["a", "it's", "b'c\\d\nAé"]);
        for wrong in ["", "[", "['a'", "['a' 'b']", "[a]", "['a", r"['\", r"['\x4']", "['a']]"] {
            assert_eq!(list(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_frame_without_its_text_has_a_line_all_the_same() {
        let line = source_line("  File \"net.py\", line 7, in forward\n").unwrap();
        assert_eq!((line.file.as_str(), line.line, line.code), ("net.py", 7, None));
        assert_eq!(source_line("File \"net.py\", line 99999999999, in forward"), None);
    }

    proptest! {
        #[test]
        fn what_python_prints_is_read_back(strings in prop::collection::vec("[^\\x00-\\x1f]*", 0..5)) {
            let quoted = |text: &String| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
            let printed = format!("[{}]", strings.iter().map(quoted).collect::<Vec<_>>().join(", "));
            prop_assert_eq!(python_list(&printed), Some(strings));
        }

        #[test]
        fn no_text_makes_the_reader_panic(
            scopes in r#"[\['"\\xuU, \]a-f0é]{0,40}"#,
            trace in r#"(File "|", line |[0-9]{1,12}|é|\n|torch/| ){0,30}"#,
            other in ".{0,40}",
        ) {
            for text in [&scopes, &trace, &other] {
                let all = [NAME_SCOPES, CLASS_HIERARCHY, STACK_TRACE, NAMESPACE].map(|key| (key, text.as_str()));
                origin(&node(&all));
                origin(&node(&all[2..]));
            }
        }
    }
}
