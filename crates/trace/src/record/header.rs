use crate::Kind;

/// What stands before a record's payload and is enough to step over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// Whose numbers the kinds are.
    pub category: Category,
    /// The number of the kind within the category.
    pub kind: u16,
    /// The payload's bytes. In the buffer the next record starts at the next multiple of 8.
    pub length: u16,
}

/// A set of kinds. opscope's own are [`Category::TRACING`]; a tool that keeps records of its own in a buffer takes
/// another number for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Category(pub u8);

impl Category {
    /// The kinds of [`Kind`].
    pub const TRACING: Self = Self(1);
}

impl Header {
    /// The kind, where the record is one of opscope's own.
    pub fn tracing_kind(&self) -> Option<Kind> {
        if self.category == Category::TRACING { Kind::from_raw(self.kind) } else { None }
    }
}
