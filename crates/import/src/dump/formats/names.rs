//! What the names of files say, in the schemes of the tools that write a file for each tensor.

use opscope_dump::Io;

/// What the name of a file of SGLang's dumper says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SglangName {
    /// The step.
    pub step: Option<u64>,
    /// The rank.
    pub rank: Option<u64>,
    /// The place in the order in which tensors were dumped.
    pub index: u64,
    /// The name of the tensor, with those attributes that tell it from others: `hidden_states[layer_id=3]`.
    pub name: String,
}

/// Reads `step=0___rank=0___dump_index=7___name=hidden_states___layer_id=3`.
pub(super) fn sglang(stem: &str) -> Option<SglangName> {
    let mut pairs: Vec<(&str, String)> = Vec::new();
    for part in stem.split("___") {
        match (part.split_once('='), pairs.last_mut()) {
            (Some((key, value)), _) => pairs.push((key, value.to_owned())),
            // Three underscores may also be in a value.
            (None, Some((_, value))) => *value += &format!("___{part}"),
            (None, None) => return None,
        }
    }
    let mut take = |wanted: &[&str]| {
        let place = pairs.iter().position(|(key, _)| wanted.contains(key))?;
        Some(pairs.remove(place).1)
    };
    let step = take(&["step", "forward_pass_id"]).and_then(|step| step.parse().ok());
    let rank = take(&["rank"]).and_then(|rank| rank.parse().ok());
    let index = take(&["dump_index"]).and_then(|index| index.parse().ok()).unwrap_or(0);
    let mut name = take(&["name"])?;
    // What all have is no part of a name.
    pairs.retain(|(key, value)| (*key, value.as_str()) != ("recompute_status", "disabled"));
    if !pairs.is_empty() {
        let attributes: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
        name += &format!("[{}]", attributes.join(","));
    }
    Some(SglangName { step, rank, index, name })
}

/// What the name of a file of TensorRT-LLM's debug hook says.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TensorRtLlmName {
    /// The modules, outermost first: the number of the call in the module around it, and the class or name.
    pub modules: Vec<(u64, String)>,
    /// Whether it was an output.
    pub is_output: bool,
    /// The argument that it was, or its number.
    pub tensor: String,
}

impl TensorRtLlmName {
    /// Returns the path of the module.
    pub fn path(&self) -> String {
        let parts: Vec<String> = self.modules.iter().map(|(call, name)| format!("{call}.{name}")).collect();
        parts.join("/")
    }

    /// Returns whether it is an input or an output.
    pub fn io(&self) -> Io {
        if self.is_output { Io::Output } else { Io::Input }
    }
}

/// Reads `1.LlamaModel-1.LlamaDecoderLayer-input.hidden_states`.
pub(super) fn tensorrt_llm(stem: &str) -> Option<TensorRtLlmName> {
    let found = ["-input.", "-output."].into_iter().filter_map(|mark| Some((stem.rfind(mark)?, mark)));
    let (at, mark) = found.max()?;
    let modules = stem[..at].split('-').map(|part| {
        let (call, name) = part.split_once('.')?;
        Some((call.parse().ok()?, name.to_owned()))
    });
    let tensor = stem[at + mark.len()..].to_owned();
    Some(TensorRtLlmName { modules: modules.collect::<Option<_>>()?, is_output: mark == "-output.", tensor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_that_tell_tensors_apart_are_part_of_the_name() {
        let name = sglang("step=2___rank=1___dump_index=7___name=a__b___layer_id=3___recompute_status=disabled");
        let expected = SglangName { step: Some(2), rank: Some(1), index: 7, name: "a__b[layer_id=3]".to_owned() };
        assert_eq!(name, Some(expected));
        let old = sglang("forward_pass_id=4___rank=0___name=x___y___dump_index=1").unwrap();
        assert_eq!((old.step, old.name.as_str()), (Some(4), "x___y"));
        assert_eq!(sglang("model"), None);
        assert_eq!(sglang("step=1___rank=0"), None);
    }

    #[test]
    fn a_module_path_has_the_number_of_each_call() {
        let name = tensorrt_llm("1.LlamaModel-12.Layer-output.hidden_states").unwrap();
        assert_eq!(
            (name.path().as_str(), name.io(), name.tensor.as_str()),
            ("1.LlamaModel/12.Layer", Io::Output, "hidden_states")
        );
        assert_eq!(tensorrt_llm("1.Linear-input.0").unwrap().tensor, "0");
        assert_eq!(tensorrt_llm("layer-input.x"), None);
        assert_eq!(tensorrt_llm("weights"), None);
    }
}
