//! The messages in the header of a dump file. Field numbers are those that AscendCL's tools read and write.

use prost::Message;

/// The format of a tensor whose dimensions have no special meaning.
pub(super) const FORMAT_ND: i32 = 2;

/// `toolkit.dumpdata.DumpData`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct DumpData {
    #[prost(string, tag = "1")]
    pub version: String,
    /// Microseconds since 1970.
    #[prost(uint64, tag = "2")]
    pub dump_time: u64,
    #[prost(message, repeated, tag = "3")]
    pub output: Vec<OpOutput>,
    #[prost(message, repeated, tag = "4")]
    pub input: Vec<OpInput>,
    #[prost(message, repeated, tag = "5")]
    pub buffer: Vec<OpBuffer>,
    #[prost(string, tag = "6")]
    pub op_name: String,
    #[prost(message, repeated, tag = "7")]
    pub attr: Vec<OpAttr>,
    #[prost(message, repeated, tag = "8")]
    pub space: Vec<Workspace>,
    /// Our own field, whose number is far from the vendor's. The vendor's tools skip unknown fields. They expect JSON
    /// of their own in the first attribute, so our data cannot be an attribute.
    #[prost(message, optional, tag = "10001")]
    pub own: Option<OwnField>,
}

impl DumpData {
    /// Returns the beginning of a file: the length of the message, and the message.
    pub fn with_length(&self) -> Vec<u8> {
        let mut bytes = (self.encoded_len() as u64).to_le_bytes().to_vec();
        bytes.extend(self.encode_to_vec());
        bytes
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OpOutput {
    #[prost(int32, tag = "1")]
    pub data_type: i32,
    #[prost(int32, tag = "2")]
    pub format: i32,
    #[prost(message, optional, tag = "3")]
    pub shape: Option<Shape>,
    #[prost(message, optional, tag = "4")]
    pub original_op: Option<OriginalOp>,
    #[prost(uint64, tag = "6")]
    pub size: u64,
    #[prost(message, optional, tag = "7")]
    pub original_shape: Option<Shape>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OpInput {
    #[prost(int32, tag = "1")]
    pub data_type: i32,
    #[prost(int32, tag = "2")]
    pub format: i32,
    #[prost(message, optional, tag = "3")]
    pub shape: Option<Shape>,
    #[prost(uint64, tag = "5")]
    pub size: u64,
    #[prost(message, optional, tag = "6")]
    pub original_shape: Option<Shape>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OpBuffer {
    #[prost(uint64, tag = "3")]
    pub size: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Workspace {
    #[prost(uint64, tag = "3")]
    pub size: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Shape {
    #[prost(uint64, repeated, tag = "1")]
    pub dim: Vec<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OriginalOp {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(uint32, tag = "2")]
    pub output_index: u32,
    #[prost(int32, tag = "3")]
    pub data_type: i32,
    #[prost(int32, tag = "4")]
    pub format: i32,
}

/// The data about an operator for which the format has no field.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OwnField {
    #[prost(string, tag = "1")]
    pub op_type: String,
    #[prost(message, repeated, tag = "2")]
    pub iterations: Vec<OwnIteration>,
    /// The inputs, in the order of the header.
    #[prost(message, repeated, tag = "3")]
    pub input: Vec<OwnTensor>,
    /// The outputs, in the order of the header.
    #[prost(message, repeated, tag = "4")]
    pub output: Vec<OwnTensor>,
}

/// An iteration of a loop around the operator, outermost first.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OwnIteration {
    #[prost(string, tag = "1")]
    pub operator: String,
    #[prost(uint32, tag = "2")]
    pub index: u32,
}

/// The data about a tensor for which the format has no field.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OwnTensor {
    #[prost(uint64, tag = "1")]
    pub slot: u64,
    #[prost(string, tag = "2")]
    pub value: String,
    /// The name of its type, even if the format has no number for it.
    #[prost(string, tag = "3")]
    pub dtype: String,
}

/// An attribute of an operator. Files that we write have none.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OpAttr {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub value: String,
}
