use std::ffi::CString;

/// Why an argument is invalid. Each library has a status and a text for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentError {
    /// It is NULL.
    Null {
        /// The kind of argument.
        what: Argument,
        /// The argument's name.
        name: &'static str,
    },
    /// It is not aligned for its type.
    Misaligned(&'static str),
    /// It has more bytes than the memory can hold.
    TooLong(&'static str),
    /// It has more elements than such an array ever has, so the count must be garbage.
    TooMany {
        /// The argument's name.
        name: &'static str,
        /// How many it has.
        count: usize,
        /// How many it may have.
        most: usize,
    },
    /// It has more structs than any model or operator has.
    TooManyStructs {
        /// Their name in C.
        name: &'static str,
        /// How many it has.
        count: usize,
        /// How many it may have.
        most: usize,
    },
    /// The text is not UTF-8.
    NotUtf8 {
        /// The argument's name.
        name: &'static str,
        /// Its bytes.
        text: CString,
    },
    /// According to its size field, the struct is smaller than its first version, or larger than any.
    WrongSize {
        /// Its name in C.
        name: &'static str,
        /// The value of the size field.
        size: usize,
        /// The size of its first version.
        least: usize,
    },
    /// A struct in an array has another size than the first.
    UnequalSize {
        /// Its name in C.
        name: &'static str,
        /// Its index.
        index: usize,
        /// Its size.
        size: usize,
        /// The size of the first struct.
        first: usize,
    },
    /// Fields of the struct that this version does not know are not zero.
    UnknownFields(&'static str),
}

/// The kind of an argument that is NULL.
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
    /// An array with this many elements.
    Items(usize),
}
