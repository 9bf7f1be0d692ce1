//! What a pickle may call: what builds tensors and plain values.

use super::machine::{Done, Machine, PickleError};
use super::{Node, NodeId};

/// The most dimensions of a tensor.
const MOST_DIMENSIONS: usize = 64;

impl Machine<'_> {
    /// Returns what a function makes of its arguments, if it is one of those that build tensors and plain values.
    pub(super) fn call(&mut self, function: NodeId, arguments: NodeId) -> Done<Node> {
        let (Node::Global(name), Node::Sequence(given)) = (self.node(function), self.node(arguments)) else {
            return Err(self.damaged("something is called that is no function"));
        };
        let (name, given) = (name.to_string(), given.clone());
        self.copy(given.len())?;
        let few = self.damaged("a function lacks arguments");
        match &*name {
            "collections OrderedDict" => Ok(Node::Dict(match given.first() {
                Some(&items) => {
                    let pairs = self.items(items)?;
                    self.copy(pairs.len())?;
                    pairs
                }
                None => Vec::new(),
            })),
            "torch device" | "torch.serialization _get_layout" => Ok(Node::Nothing),
            "torch._utils _rebuild_tensor" | "torch._utils _rebuild_tensor_v2" | "torch._utils _rebuild_tensor_v3" => {
                let tensor = self.tensor(&name, &given)?;
                self.copied(tensor)
            }
            "torch._utils _rebuild_parameter" => {
                let data = given.first().map(|&data| self.node(data).clone());
                self.copied(data.filter(|data| matches!(data, Node::Tensor { .. })).ok_or(few)?)
            }
            // A tensor with attributes of its own, which do not change its elements.
            "torch._tensor _rebuild_from_type_v2" => {
                let [function, class, arguments, _] = given[..] else { return Err(few) };
                match self.node(class) {
                    Node::Global(class) if matches!(&**class, "torch Tensor" | "torch.nn.parameter Parameter") => {}
                    Node::Global(class) => return Err(PickleError::Name(class.replace(' ', "."))),
                    _ => return Err(few),
                }
                match self.node(function) {
                    // Only one that makes a tensor, so that calls do not nest.
                    Node::Global(function) if function.starts_with("torch._utils _rebuild_tensor") => {}
                    _ => return Err(self.damaged("a tensor is made of something else")),
                }
                self.call(function, arguments)
            }
            other => Err(PickleError::Name(other.replace(' ', "."))),
        }
    }

    /// Counts what a tensor copies of other values.
    fn copied(&mut self, tensor: Node) -> Done<Node> {
        if let Node::Tensor { shape, .. } = &tensor {
            self.copy(shape.len())?;
        }
        Ok(tensor)
    }

    /// Counts parts of values that are copied. A few bytes can ask for a copy of much that is kept.
    fn copy(&mut self, parts: usize) -> Done {
        let left = self.copies.checked_sub(parts);
        self.copies = left.ok_or_else(|| self.damaged("it repeats more than any file of tensors"))?;
        Ok(())
    }

    fn tensor(&self, name: &str, given: &[NodeId]) -> Done<Node> {
        let [storage, offset, shape, strides, rest @ ..] = given else {
            return Err(self.damaged("a tensor lacks arguments"));
        };
        if !matches!(self.node(*storage), Node::Storage { .. }) {
            return Err(self.damaged("a tensor has no storage"));
        }
        let whole = |id: NodeId| match self.node(id) {
            Node::Int(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        let numbers = |id: NodeId| match self.node(id) {
            Node::Sequence(items) if items.len() <= MOST_DIMENSIONS => items.iter().map(|&item| whole(item)).collect(),
            _ => None,
        };
        let (shape, strides): (Option<Vec<u64>>, Option<Vec<u64>>) = (numbers(*shape), numbers(*strides));
        let shape = shape.and_then(|shape| shape.into_iter().map(|dim| usize::try_from(dim).ok()).collect());
        let wrong = || self.damaged("a tensor's offset, shape or strides are no whole numbers");
        let (offset, shape, strides): (_, Vec<usize>, _) =
            (whole(*offset).ok_or_else(wrong)?, shape.ok_or_else(wrong)?, strides.ok_or_else(wrong)?);
        if shape.len() != strides.len() {
            return Err(wrong());
        }
        // requires_grad and hooks, then in the third version the type, then what is computed when it is read.
        let has_type = name.ends_with("_v3");
        let dtype = rest.get(2).filter(|_| has_type).map(|&id| self.node(id));
        let dtype = match dtype {
            Some(Node::Global(dtype)) => Some(dtype.clone()),
            None if !has_type => None,
            _ => return Err(self.damaged("a tensor has no type")),
        };
        let differs = rest.get(if has_type { 3 } else { 2 }).and_then(|&metadata| match self.node(metadata) {
            Node::Dict(pairs) => pairs.iter().find_map(|(key, value)| match (self.node(*key), self.node(*value)) {
                (Node::Text(key), Node::Bool(true)) if &**key == "conj" => {
                    Some("it is conjugated when it is read; save tensor.resolve_conj()")
                }
                (Node::Text(key), Node::Bool(true)) if &**key == "neg" => {
                    Some("it is negated when it is read; save tensor.resolve_neg()")
                }
                _ => None,
            }),
            _ => None,
        });
        Ok(Node::Tensor { storage: *storage, dtype, offset, shape, strides, differs })
    }

    /// Returns the storage of `('storage', torch.FloatStorage, key, location, elements)`.
    pub(super) fn storage(&self, id: NodeId) -> Done<Node> {
        let wrong = || self.damaged("a persistent id names no storage");
        let Node::Sequence(parts) = self.node(id) else { return Err(wrong()) };
        let [kind, class, key, _, elements, ..] = parts[..] else { return Err(wrong()) };
        match [kind, class, key, elements].map(|part| self.node(part)) {
            [Node::Text(kind), Node::Global(class), Node::Text(key), Node::Int(elements)] if &**kind == "storage" => {
                let elements = u64::try_from(*elements).map_err(|_| wrong())?;
                Ok(Node::Storage { class: class.clone(), key: key.clone(), elements })
            }
            _ => Err(wrong()),
        }
    }

    /// Takes the name of a module. Those that only name a type are taken, and those that are called are checked again
    /// when they are.
    pub(super) fn global(&mut self, name: String) -> Done {
        let is_type = |name: &str| {
            let name = name.strip_prefix("torch ");
            name.is_some_and(|name| name.ends_with("Storage") || crate::dump::files::types::is_type_name(name))
        };
        let is_known = matches!(
            &*name,
            "collections OrderedDict"
                | "torch Size"
                | "torch device"
                | "torch Tensor"
                | "torch.storage UntypedStorage"
                | "torch.nn.parameter Parameter"
                | "torch.serialization _get_layout"
                | "torch._tensor _rebuild_from_type_v2"
                | "torch._utils _rebuild_parameter"
                | "torch._utils _rebuild_tensor"
                | "torch._utils _rebuild_tensor_v2"
                | "torch._utils _rebuild_tensor_v3"
        );
        if !is_known && !is_type(&name) {
            return Err(PickleError::Name(name.replacen(' ', ".", 1)));
        }
        self.push(Node::Global(name.into()))
    }
}
