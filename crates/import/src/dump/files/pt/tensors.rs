use std::path::Path;
use std::sync::Arc;

use super::Named;
use super::archive::Archive;
use crate::dump::files::pickle::{Node, NodeId, Pickle};
use crate::dump::files::types::{type_named, type_of_storage};
use crate::dump::found::{Data, Elements, Span, Unreadable};

/// The most tensors of a file.
const MOST_TENSORS: usize = 1 << 18;

/// The most values that are looked at. A value that lies in several others is looked at in each of them.
const MOST_VISITS: usize = 1 << 22;

/// How deep tensors may lie in dictionaries and lists.
const DEEPEST: usize = 64;

/// The most bytes of names.
const MOST_NAMES: usize = 64 << 20;

/// The most bytes that elements with gaps between them, or that repeat, may take.
const MOST_STRIDED: u64 = 1 << 30;

/// Returns the tensors of a pickle, by the keys and positions that lead to them, with points between them.
pub(super) fn named(pickle: &Pickle, archive: &Archive, path: &Arc<Path>) -> Vec<Named> {
    let mut found = Vec::new();
    let mut names = 0;
    let mut waiting = vec![(pickle.root(), String::new(), 0)];
    for _ in 0..MOST_VISITS {
        let Some((id, name, depth)) = waiting.pop() else { break };
        names += name.len();
        if found.len() == MOST_TENSORS || names > MOST_NAMES {
            found.push(Named {
                name,
                tensor: Err(Unreadable::from("the file has too many tensors; the rest are not read")),
            });
            break;
        }
        let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
        match pickle.node(id) {
            Node::Tensor { .. } => {
                let tensor = tensor(pickle, id, archive, path);
                found.push(Named { name, tensor });
            }
            Node::Sequence(_) | Node::Dict(_) if depth == DEEPEST => {
                found.push(Named {
                    name,
                    tensor: Err(Unreadable::from(format!("it lies more than {DEEPEST} lists deep"))),
                });
            }
            // The first is looked at first.
            Node::Sequence(items) => {
                let is_inner =
                    |id: NodeId| matches!(pickle.node(id), Node::Tensor { .. } | Node::Sequence(_) | Node::Dict(_));
                let inner = items.iter().enumerate().rev().filter(|(_, item)| is_inner(**item));
                waiting.extend(inner.map(|(place, &item)| (item, below(&place.to_string()), depth + 1)));
            }
            Node::Dict(pairs) => {
                let key = |id: NodeId| match pickle.node(id) {
                    Node::Text(text) => text.to_string(),
                    Node::Int(number) => number.to_string(),
                    _ => "?".to_owned(),
                };
                let is_inner =
                    |id: NodeId| matches!(pickle.node(id), Node::Tensor { .. } | Node::Sequence(_) | Node::Dict(_));
                let inner = pairs.iter().rev().filter(|(_, value)| is_inner(*value));
                waiting.extend(inner.map(|&(name, value)| (value, below(&key(name)), depth + 1)));
            }
            _ => {}
        }
        // A list that is in itself, or in many others, would never end.
        if waiting.len() > MOST_VISITS {
            break;
        }
    }
    if let Some((_, name, _)) = waiting.pop() {
        found
            .push(Named { name, tensor: Err(Unreadable::from("the file has too many values; the rest are not read")) });
    }
    found
}

fn tensor(pickle: &Pickle, id: NodeId, archive: &Archive, path: &Arc<Path>) -> Result<Elements, Unreadable> {
    let Node::Tensor { storage, dtype, offset, shape, strides, differs } = pickle.node(id) else {
        return Err(Unreadable::from("it is no tensor"));
    };
    let Node::Storage { class, key, elements } = pickle.node(*storage) else {
        return Err(Unreadable::from("it has no storage"));
    };
    if let Some(reason) = differs {
        return Err(Unreadable::from(*reason));
    }
    let unknown = |name: &str| format!("opscope has no type for the elements of '{}'", name.replace(' ', "."));
    let below_torch = |name: &str| name.strip_prefix("torch ").unwrap_or(name).to_owned();
    let (found, unit) = match dtype {
        Some(dtype) => (type_named(&below_torch(dtype)).ok_or_else(|| unknown(dtype))?, 1),
        None => {
            let found = type_of_storage(&below_torch(class)).ok_or_else(|| unknown(class))?;
            (found, found.size().unwrap_or(1) as u64)
        }
    };
    let size = found.size().ok_or_else(|| unknown(found.name()))? as u64;
    let (begin, held) = archive.storage(key)?;
    let overflow = || "it has more elements than a machine can address".to_owned();
    // An untyped storage counts bytes.
    let stated = elements.checked_mul(unit).ok_or_else(overflow)?;
    if stated > held {
        return Err(Unreadable::from(format!("its storage should have {stated} bytes and has {held}")));
    }
    let count = shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim)).ok_or_else(overflow)?;
    let bytes = found.bytes_of(count).ok_or_else(overflow)? as u64;
    let reach = shape.iter().zip(strides).try_fold(0u64, |reach, (&dim, &stride)| {
        reach.checked_add((dim as u64).saturating_sub(1).checked_mul(stride)?)
    });
    let reach = if count == 0 { Some(0) } else { reach.and_then(|reach| reach.checked_add(1)) };
    let reach = reach.and_then(|reach| reach.checked_mul(size)).ok_or_else(overflow)?;
    let offset = offset.checked_mul(size).ok_or_else(overflow)?;
    if offset.checked_add(reach).is_none_or(|end| end > stated) {
        return Err(Unreadable::from(format!("its elements reach beyond the {stated} bytes of its storage")));
    }
    let is_dense = count == 0 || is_row_major(shape, strides);
    if !is_dense && bytes.max(reach) > MOST_STRIDED {
        return Err(Unreadable::from(format!(
            "its elements are not in order and take {bytes} bytes; save tensor.contiguous()"
        )));
    }
    let strides = (!is_dense).then(|| strides.clone());
    let span = Span { path: Arc::clone(path), offset: begin + offset, bytes: reach, strides };
    Ok((found, shape.clone(), Data::Span(span)))
}

/// Returns whether elements with these strides are row-major without gaps.
fn is_row_major(shape: &[usize], strides: &[u64]) -> bool {
    let mut expected = 1u64;
    shape.iter().zip(strides).rev().all(|(&dim, &stride)| {
        let fits = dim == 1 || stride == expected;
        expected = expected.saturating_mul(dim as u64);
        fits
    })
}
