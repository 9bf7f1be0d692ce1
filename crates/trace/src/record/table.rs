/// Defines the kinds of records, each in one row: its number, its name, its operations, and the layout of its records.
/// A new kind is a new row in `kind.rs`. `CONTRIBUTING.md` lists the other places that a new kind needs.
///
/// - `name`: what users and files call the kind.
/// - `operations`: what a record of the kind can describe, numbered from 0, each with its name.
/// - `operation`: the number of a record's operation.
/// - `thread`: the thread whose name a reader of the record needs, if there is one.
/// - `text`: the name that the record refers to, if there is one.
/// - `bytes`, `tail`: the length of a record, and of each of the equal parts that may follow it in its payload.
macro_rules! record_kinds {
    ($(
        $(#[$doc:meta])*
        $kind:ident = $number:literal => {
            name: $name:literal,
            $(#[$operations_doc:meta])*
            operations: $operations:ident {
                $( $(#[$operation_doc:meta])* $operation:ident = $value:literal => $operation_name:literal, )+
            },
            operation: |$of_operation:ident| $operation_number:expr,
            thread: |$of_thread:ident| $thread:expr,
            text: |$of_text:ident| $text:expr,
            bytes: $bytes:literal $( and tail: $tail:ty )?,
            $(#[$record_doc:meta])*
            pub struct $record:ident {
                $( $(#[$field_doc:meta])* pub $field:ident: $type:ty, )+
            }
        }
    )+) => {
        /// What a record is about. A context is configured per kind. A reader matches all kinds, so that a new kind
        /// cannot be forgotten.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Kind {
            $( $(#[$doc])* $kind = $number, )+
        }

        /// Every kind with its name and the names of its operations, in the order of the kinds' numbers.
        const TABLE: [(Kind, &str, &[&str]); [$( $number ),+].len()] =
            [$( (Kind::$kind, $name, &[$( $operation_name ),+]) ),+];

        $(
            $(#[$operations_doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[repr(u32)]
            pub enum $operations {
                $( $(#[$operation_doc])* $operation = $value, )+
            }

            impl $operations {
                /// Every operation, in the order of their numbers.
                pub const ALL: [Self; [$( $value ),+].len()] = [$( Self::$operation ),+];

                /// Returns the name, as in [`Kind::operations`].
                pub const fn name(self) -> &'static str {
                    match self {
                        $( Self::$operation => $operation_name, )+
                    }
                }

                /// Returns the operation with this number, or `None` if the kind has no such operation.
                pub const fn from_raw(raw: u32) -> Option<Self> {
                    match raw {
                        $( $value => Some(Self::$operation), )+
                        _ => None,
                    }
                }
            }

            impl From<$operations> for Operation {
                fn from(operation: $operations) -> Self {
                    Self(operation as u32)
                }
            }

            $(#[$record_doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
            #[repr(C)]
            pub struct $record {
                $( $(#[$field_doc])* pub $field: $type, )+
            }

            const _: () = assert!(size_of::<$record>() == $bytes);

            // Not every row uses the record.
            #[allow(unused_variables)]
            impl Record for $record {
                const KIND: Kind = Kind::$kind;
                $( const TAIL: usize = size_of::<$tail>(); )?

                #[inline]
                fn operation(&self) -> Operation {
                    let $of_operation = self;
                    Operation($operation_number)
                }

                fn thread(&self) -> Option<ThreadId> {
                    let $of_thread = self;
                    $thread
                }

                fn text(&self) -> Option<NameId> {
                    let $of_text = self;
                    $text
                }
            }
        )+

        impl RecordRef<'_> {
            /// Returns the thread whose name a reader of the record needs, or `None` if the record is not about a
            /// thread or is not one of opscope's own.
            pub fn thread(&self) -> Option<ThreadId> {
                match self.kind()? {
                    $( Kind::$kind => self.get::<$record>().and_then(Record::thread), )+
                }
            }

            /// Returns the name that the record refers to, or `None` if it refers to no name or is not one of opscope's
            /// own.
            pub fn text(&self) -> Option<NameId> {
                match self.kind()? {
                    $( Kind::$kind => self.get::<$record>().and_then(Record::text), )+
                }
            }
        }

        /// Returns the number and the name of each of a kind's operations, and whether the number stands for it.
        #[cfg(test)]
        fn numbered(kind: Kind) -> Vec<(u32, &'static str, bool)> {
            match kind {
                $( Kind::$kind => {
                    let number = |operation| operation as u32;
                    let is_read = |operation| $operations::from_raw(operation as u32) == Some(operation);
                    $operations::ALL.map(|each| (number(each), each.name(), is_read(each))).to_vec()
                } )+
            }
        }

        /// Returns a kind's row of the table in `docs/records.md`.
        #[cfg(test)]
        fn documented(kind: Kind) -> String {
            let operations: Vec<_> = kind.operations().map(|(number, name)| format!("{} `{name}`", number.0)).collect();
            let (bytes, tail, fields) = match kind {
                $( Kind::$kind => (
                    $bytes,
                    $record::TAIL,
                    vec![$( documented_field::<$type>(stringify!($field), std::mem::offset_of!($record, $field)) ),+],
                ), )+
            };
            let tail = if tail == 0 { String::new() } else { format!(", and {tail} for each level of its [path](#paths)") };
            let (number, operations, fields) = (kind.as_raw(), operations.join(", "), fields.join(", "));
            format!("| {number} | `{kind}` | {operations} | {bytes}{tail} | {fields} |")
        }
    };
}

pub(super) use record_kinds;

/// Returns the entry of a field, such as `8:plan:u64`, in the column for fields of `docs/records.md`.
#[cfg(test)]
pub(super) fn documented_field<T: 'static>(name: &str, offset: usize) -> String {
    use std::any::TypeId;

    use super::{Correlation, CorrelationId};

    let is = |of: TypeId| TypeId::of::<T>() == of;
    if is(TypeId::of::<Correlation>()) {
        return format!("{offset}:internal:u64, {}:external:u64", offset + 8);
    }
    let name = if is(TypeId::of::<CorrelationId>()) { "internal" } else { name };
    let word = match size_of::<T>() {
        _ if is(TypeId::of::<opscope_clock::Ticks>()) => "ticks",
        _ if is(TypeId::of::<f64>()) => "f64",
        4 => "u32",
        8 => "u64",
        other => panic!("docs/records.md has no word for a field of {other} bytes yet"),
    };
    format!("{offset}:{name}:{word}")
}
