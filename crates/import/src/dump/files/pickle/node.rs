//! The values that a pickle builds.

/// The place of a value in its [`Pickle`](super::Pickle). Values refer to each other by place, so a value that is
/// nested deeply, or in itself, is no danger to the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(pub(super) u32);

/// A value of a pickle.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// `None`, and values that do not matter, such as a device.
    Nothing,
    /// A truth value.
    Bool(bool),
    /// A whole number. Those beyond 64 bits are [`Nothing`](Self::Nothing).
    Int(i64),
    /// A number with a fraction. No tensor depends on one, so its value is not kept.
    Float,
    /// Text.
    Text(Box<str>),
    /// A list or a tuple.
    Sequence(Vec<NodeId>),
    /// A dictionary, in its order.
    Dict(Vec<(NodeId, NodeId)>),
    /// A name of a module of Python, such as `torch FloatStorage`.
    Global(Box<str>),
    /// What a persistent id names: the elements of tensors.
    Storage {
        /// The type of its elements, such as `torch FloatStorage`.
        class: Box<str>,
        /// Its name in the archive.
        key: Box<str>,
        /// Its number of elements.
        elements: u64,
    },
    /// A tensor.
    Tensor {
        /// The place of its storage.
        storage: NodeId,
        /// The name of its type, if it is not that of the storage.
        dtype: Option<Box<str>>,
        /// Where in the storage it begins, in elements.
        offset: u64,
        /// Its shape.
        shape: Vec<usize>,
        /// How far apart its elements are in each dimension, in elements.
        strides: Vec<u64>,
        /// Why its elements are not those of the storage, if they are not.
        differs: Option<&'static str>,
    },
}
