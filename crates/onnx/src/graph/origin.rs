//! The origin of an operator: the modules of the program that it was exported from, and the line that called it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Operator;

/// The origin of an operator in the program that the file was exported from, according to its node's metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CodeOrigin {
    /// The operator's name for people: `layers.0.c1 (Conv)`, or `layers.0.attn (MatMul #2)` if the module has several
    /// operators of the type. Its name in the file if it is in no module. The display names of operators in modules are
    /// unique, but the file may give such a name to an operator that is in none.
    pub display_name: String,
    /// The modules that it is in, outermost first, without the model itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<Module>,
    /// The line that called it: the innermost one that is not in PyTorch's own files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceLine>,
    /// The call of the traced program that it is exported from. Only the file has it.
    #[serde(skip)]
    pub traced: Option<TracedCall>,
}

/// A call of an operator in a traced program, for which a file may have several operators.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TracedCall {
    /// The name of the call, such as `linear_3`.
    pub name: String,
    /// The operator, such as `aten.linear.default`.
    pub target: String,
}

/// A module of the program, such as a `torch.nn.Module`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Module {
    /// Its full path from the model, such as `layers.0.attn`.
    pub path: String,
    /// Its class with the Python module, such as `torch.nn.modules.conv.Conv2d`. Empty if it is unknown.
    pub class: String,
}

/// A line of a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SourceLine {
    /// The file, as the exporter wrote it.
    pub file: String,
    /// The number of the line, from 1.
    pub line: u32,
    /// The text of the line, or `None` if the file does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// How many parts a path has. The rest of a deeper path is one part.
const DEEPEST: usize = 62;

/// Returns the parts of the path to an operator, outermost first. Concatenated, they are the path as people write it.
///
/// The path consists of the modules in the metadata: `layers.0`, `.attn`. Without metadata it is taken from the
/// operator's name, as PyTorch's older exporter and TensorFlow write it: for `/encoder/layer.3/MatMul`, `/encoder` and
/// `/layer.3`. It is empty for an operator without a path.
pub fn path_of_operator<'a>(name: &'a str, origin: Option<&'a CodeOrigin>) -> Vec<Cow<'a, str>> {
    match origin {
        Some(origin) if !origin.modules.is_empty() => path_of_modules(&origin.modules),
        _ => path_in_name(name),
    }
}

/// Returns the modules that an operator is in, outermost first, by their full paths: those of the metadata or, without
/// metadata, those in the operator's name: for `/encoder/layer.3/MatMul`, `/encoder` and `/encoder/layer.3`.
pub fn modules_of_operator<'a>(name: &'a str, origin: Option<&'a CodeOrigin>) -> Vec<&'a str> {
    if let Some(origin) = origin {
        return origin.modules.iter().map(|module| module.path.as_str()).collect();
    }
    let mut end = 0;
    let inner = path_in_name(name).into_iter().map(|part| {
        end += part.len();
        &name[..end]
    });
    inner.collect()
}

fn path_of_modules(modules: &[Module]) -> Vec<Cow<'_, str>> {
    let mut parts: Vec<Cow<'_, str>> = Vec::new();
    let mut around = "";
    for module in modules.iter().take(DEEPEST) {
        let path = module.path.as_str();
        let inner = path.strip_prefix(around).filter(|inner| parts.is_empty() || inner.starts_with('.'));
        parts.push(match inner {
            Some(inner) => Cow::Borrowed(inner),
            // A module that another one calls but does not own.
            None => Cow::Owned(format!("/{path}")),
        });
        around = path;
    }
    parts
}

fn path_in_name(name: &str) -> Vec<Cow<'_, str>> {
    // TensorFlow's converters list the operators that they merged.
    let first = name.split(';').next().unwrap_or(name);
    let path = first.rfind('/').map_or("", |end| &first[..end]);
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in path.match_indices('/').filter(|(at, _)| *at > 0).take(DEEPEST) {
        parts.push(Cow::Borrowed(&path[start..at]));
        start = at;
    }
    if start < path.len() {
        parts.push(Cow::Borrowed(&path[start..]));
    }
    parts
}

/// Gives the operators in modules their display names. If a module has several operators of one type, they are numbered
/// in order of execution.
pub(crate) fn give_display_names<'o>(operators: impl Iterator<Item = &'o mut Operator>) {
    let mut operators: Vec<&mut Operator> = operators.filter(|operator| operator.origin.is_some()).collect();
    let key = |operator: &Operator| {
        let module = operator.origin.as_ref()?.module()?;
        Some((module.path.clone(), operator.op_type.clone()))
    };
    let mut counts: HashMap<(String, String), (u32, u32)> = HashMap::new();
    for key in operators.iter().filter_map(|operator| key(operator)) {
        counts.entry(key).or_default().0 += 1;
    }
    for operator in &mut operators {
        let display_name = match key(operator) {
            Some(key) => {
                let (all, seen) = counts.get_mut(&key).expect("all were counted");
                *seen += 1;
                let (path, op_type) = &key;
                if *all > 1 { format!("{path} ({op_type} #{seen})") } else { format!("{path} ({op_type})") }
            }
            None => operator.name.clone(),
        };
        if let Some(origin) = &mut operator.origin {
            origin.display_name = display_name;
        }
    }
}

impl CodeOrigin {
    /// Returns the innermost module that the operator is in, or `None` if it is only in the model itself.
    pub fn module(&self) -> Option<&Module> {
        self.modules.last()
    }

    /// Returns the path of the module, its class, and the source line, as far as they are known. Tables have these
    /// columns.
    pub fn notes(&self) -> [(&'static str, Option<String>); 3] {
        let module = self.module();
        let class = module.map(|module| module.class.clone()).filter(|class| !class.is_empty());
        let source = self.source.as_ref().map(ToString::to_string);
        [("module", module.map(|module| module.path.clone())), ("class", class), ("source", source)]
    }

    /// Returns a message's lines about it: the operator with the class of its module, and the source line.
    pub fn lines(&self) -> Vec<String> {
        let module = self.module().map(|module| match module.class.as_str() {
            "" => self.display_name.clone(),
            class => format!("{} in {class}", self.display_name),
        });
        module.into_iter().chain(self.source.as_ref().map(SourceLine::to_string)).collect()
    }
}

impl SourceLine {
    /// Returns the file and the line, as in `train_lib/attention.py:88`. An absolute path is shortened to its last
    /// folder, or to what follows `site-packages`.
    pub fn place(&self) -> String {
        let parts: Vec<&str> = self.file.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
        let is_absolute = self.file.starts_with(['/', '\\']) || parts.first().is_some_and(|first| first.ends_with(':'));
        let installed = parts.iter().rposition(|part| matches!(*part, "site-packages" | "dist-packages"));
        let shown = match installed {
            Some(at) => parts[at + 1..].join("/"),
            None if is_absolute => parts[parts.len().saturating_sub(2)..].join("/"),
            None => self.file.clone(),
        };
        format!("{shown}:{}", self.line)
    }
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place())?;
        match &self.code {
            Some(code) => write!(f, "  {code}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_modules(paths: &[&str]) -> CodeOrigin {
        let module = |path: &&str| Module { path: (*path).to_owned(), class: String::new() };
        CodeOrigin { modules: paths.iter().map(module).collect(), ..CodeOrigin::default() }
    }

    #[test]
    fn the_path_of_a_name_is_what_stands_before_its_last_slash() {
        let path = |name| path_of_operator(name, None);
        assert_eq!(path("/encoder/layer.3/MatMul"), ["/encoder", "/layer.3"]);
        assert_eq!(path("Loop_3/Add_0"), ["Loop_3"]);
        assert_eq!(path("conv1"), [""; 0]);
        assert_eq!(path("/Add"), [""; 0]);
        assert_eq!(path("//é//x"), ["/", "/é", "/"]);
        assert_eq!(path("model/dense/MatMul;model/dense/BiasAdd"), ["model", "/dense"]);
    }

    #[test]
    fn the_modules_of_an_operator_have_their_full_paths() {
        assert_eq!(modules_of_operator("/encoder/layer.3/MatMul", None), ["/encoder", "/encoder/layer.3"]);
        assert_eq!(modules_of_operator("Loop_3/Add_0", None), ["Loop_3"]);
        assert_eq!(modules_of_operator("/Softmax", None), [""; 0]);
        let origin = in_modules(&["layers.0", "layers.0.attn"]);
        assert_eq!(modules_of_operator("a/b", Some(&origin)), ["layers.0", "layers.0.attn"]);
        assert_eq!(modules_of_operator("MLP/aten.relu", Some(&in_modules(&[]))), [""; 0]);
    }

    #[test]
    fn the_path_of_the_modules_comes_before_that_of_the_name() {
        let origin = in_modules(&["layers.0", "layers.0.attn", "layers.0.attn.q"]);
        assert_eq!(path_of_operator("a/b/node_MatMul_3", Some(&origin)), ["layers.0", ".attn", ".q"]);
        let shared = in_modules(&["layers.1", "embedding", "embeddings"]);
        assert_eq!(path_of_operator("x", Some(&shared)).concat(), "layers.1/embedding/embeddings");
        assert_eq!(path_of_operator("/a/b", Some(&in_modules(&[]))), ["/a"]);
    }

    #[test]
    fn a_place_in_the_source_is_short_and_keeps_the_folder() {
        let place = |file: &str| SourceLine { file: file.to_owned(), line: 88, code: None }.place();
        assert_eq!(place("train_lib/nets/attention.py"), "train_lib/nets/attention.py:88");
        assert_eq!(place("/home/me/train_lib/attention.py"), "train_lib/attention.py:88");
        assert_eq!(place(r"C:\me\train_lib\attention.py"), "train_lib/attention.py:88");
        assert_eq!(
            place("/v/lib/python3.11/site-packages/transformers/models/bert/bert.py"),
            "transformers/models/bert/bert.py:88"
        );
        assert_eq!(place(""), ":88");
    }
}
