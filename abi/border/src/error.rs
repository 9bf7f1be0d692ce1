use std::ffi::CString;

/// Why an argument cannot be used. Each library has a status and a text for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentError {
    /// It is NULL.
    Null {
        /// What it is.
        what: Argument,
        /// What the function calls it.
        name: &'static str,
    },
    /// It is not aligned for its type.
    Misaligned(&'static str),
    /// It has more bytes than there is memory.
    TooLong(&'static str),
    /// It has more elements than such an array ever has: its count was never set.
    TooMany {
        /// What the function calls it.
        name: &'static str,
        /// How many it has.
        count: usize,
        /// How many it can have.
        most: usize,
    },
    /// It has more structs than any model or operator has.
    TooManyStructs {
        /// Their name in C.
        name: &'static str,
        /// How many it has.
        count: usize,
        /// How many it can have.
        most: usize,
    },
    /// The text is not UTF-8.
    NotUtf8 {
        /// What the function calls it.
        name: &'static str,
        /// Its bytes.
        text: CString,
    },
    /// The struct says that it is smaller than its first version, or larger than any.
    WrongSize {
        /// Its name in C.
        name: &'static str,
        /// The size that it says.
        size: usize,
        /// The size of its first version.
        least: usize,
    },
    /// A struct of an array says another size than the first.
    UnequalSize {
        /// Its name in C.
        name: &'static str,
        /// Its index.
        index: usize,
        /// The size that it says.
        size: usize,
        /// The size that the first says.
        first: usize,
    },
    /// Fields of the struct that this version does not know are not zero.
    UnknownFields(&'static str),
}

/// What an argument that is NULL stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// A text.
    Text,
    /// A value that is read.
    Value,
    /// A place for a result.
    Place,
    /// A struct that begins with its size.
    Struct,
    /// A function.
    Callback,
    /// An array of so many elements.
    Items(usize),
}
