use super::Kind;

/// The description of a record, which precedes its payload. A reader that does not know the kind skips the record by
/// its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// The category that the kind's number belongs to.
    pub category: Category,
    /// The number of the kind within the category.
    pub kind: u16,
    /// The number of payload bytes. In the buffer the next record starts at the next multiple of 8.
    pub length: u16,
}

/// A set of kinds. opscope's own kinds are [`Category::TRACING`]. A tool that emits records of its own uses another
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Category(pub u8);

impl Category {
    /// The category of every [`Kind`].
    pub const TRACING: Self = Self(1);
}

impl Header {
    /// Returns the kind if the record is one of opscope's own.
    pub fn tracing_kind(&self) -> Option<Kind> {
        if self.category == Category::TRACING { Kind::from_raw(self.kind) } else { None }
    }
}
