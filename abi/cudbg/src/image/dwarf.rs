//! The debug information, as DWARF 4. Operators are functions on the lines of the listing, and tensors are variables.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;

use gimli::write::{
    Address, AttributeValue, DwarfUnit, EndianVec, Expression, FileId, LineProgram, LineString, Range, RangeList,
    Result, Sections, Unit, UnitEntryId, Writer,
};
use gimli::{
    DW_AT_address_class, DW_AT_byte_size, DW_AT_comp_dir, DW_AT_count, DW_AT_decl_file, DW_AT_decl_line,
    DW_AT_encoding, DW_AT_external, DW_AT_high_pc, DW_AT_language, DW_AT_location, DW_AT_low_pc, DW_AT_name,
    DW_AT_producer, DW_AT_ranges, DW_AT_stmt_list, DW_AT_type, DW_ATE_boolean, DW_ATE_float, DW_ATE_signed,
    DW_ATE_unsigned, DW_LANG_C99, DW_TAG_array_type, DW_TAG_base_type, DW_TAG_subprogram, DW_TAG_subrange_type,
    DW_TAG_variable,
};
use gimli::{DwAddr, DwAte, Encoding, Format, LineEncoding, LittleEndian, SectionId};
use opscope_tensor::DType;

use super::listing::{Listing, Names};
use super::{Place, Symbol};
use crate::addresses::{INSTRUCTION_BYTES, OPERATOR_BYTES};
use crate::graph::{Graph, Value};

const ENCODING: Encoding = Encoding { format: Format::Dwarf32, version: 4, address_size: 8 };

/// The address class of variables in global memory.
const GLOBAL: DwAddr = DwAddr(5);

/// A section of the debug information.
#[derive(Debug, Clone)]
pub struct Section<'a> {
    pub bytes: EndianVec<LittleEndian>,
    /// The addresses in it that depend on the model's addresses.
    pub relocations: Vec<Relocation>,
    place: Place<'a>,
}

/// An address in a section that depends on the model's addresses.
#[derive(Debug, Clone, Copy)]
pub struct Relocation {
    pub offset: u64,
    pub symbol: Symbol,
    pub addend: i64,
}

/// Returns the sections of a model's debug information that are not empty.
pub fn sections<'a>(
    graph: &Graph,
    names: &Names,
    listing: &Listing,
    place: Place<'a>,
) -> Result<Vec<(SectionId, Section<'a>)>> {
    let mut dwarf = DwarfUnit::new(ENCODING);
    let text = |text: &[u8]| LineString::String(without_zeros(text));
    let directory = text(listing.directory.as_os_str().as_bytes());
    let file = text(listing.file.as_bytes());
    let lines = LineProgram::new(ENCODING, LineEncoding::default(), directory.clone(), None, file.clone(), None);
    let unit = &mut dwarf.unit;
    unit.line_program = lines;
    let root = unit.line_program.default_directory();
    let source = unit.line_program.add_file(file, root, None);
    describe_unit(unit, graph, listing);
    for (index, name) in names.operators.iter().enumerate() {
        function(unit, name, source, index as u32);
    }
    let mut types = Types::default();
    for (index, (name, value)) in names.values.iter().zip(&graph.values).enumerate() {
        let of_value = types.of(unit, value);
        variable(unit, name, index as u32, of_value);
    }
    let mut sections = Sections::new(Section { bytes: EndianVec::new(LittleEndian), relocations: Vec::new(), place });
    dwarf.write(&mut sections)?;
    let mut written = Vec::new();
    sections.for_each(|id, section| {
        if section.bytes.len() > 0 {
            written.push((id, section.clone()));
        }
        Result::Ok(())
    })?;
    Ok(written)
}

fn describe_unit(unit: &mut Unit, graph: &Graph, listing: &Listing) {
    let ranges = (0..graph.operators.len()).map(|index| {
        let begin = Symbol::Operator(index as u32).address();
        Range::StartLength { begin, length: OPERATOR_BYTES }
    });
    let ranges = unit.ranges.add(RangeList(ranges.collect()));
    let directory = without_zeros(listing.directory.as_os_str().as_bytes());
    let entry = unit.get_mut(unit.root());
    entry.set(DW_AT_producer, AttributeValue::String(concat!("opscope ", env!("CARGO_PKG_VERSION")).into()));
    // The language is C, so that a debugger does not take the names for C++ names and demangle them.
    entry.set(DW_AT_language, AttributeValue::Language(DW_LANG_C99));
    entry.set(DW_AT_name, AttributeValue::String(listing.file.clone().into_bytes()));
    entry.set(DW_AT_comp_dir, AttributeValue::String(directory));
    entry.set(DW_AT_stmt_list, AttributeValue::LineProgramRef);
    entry.set(DW_AT_low_pc, AttributeValue::Address(Address::Constant(0)));
    entry.set(DW_AT_ranges, AttributeValue::RangeListRef(ranges));
}

/// Adds an operator with its line.
fn function(unit: &mut Unit, name: &str, file: FileId, index: u32) {
    let line = u64::from(index) + 1;
    let begin = Symbol::Operator(index).address();
    let function = unit.add(unit.root(), DW_TAG_subprogram);
    let entry = unit.get_mut(function);
    entry.set(DW_AT_name, AttributeValue::String(name.into()));
    entry.set(DW_AT_external, AttributeValue::Flag(true));
    entry.set(DW_AT_decl_file, AttributeValue::FileIndex(Some(file)));
    entry.set(DW_AT_decl_line, AttributeValue::Udata(line));
    entry.set(DW_AT_low_pc, AttributeValue::Address(begin));
    entry.set(DW_AT_high_pc, AttributeValue::Udata(OPERATOR_BYTES));

    let lines = &mut unit.line_program;
    lines.begin_sequence(Some(begin));
    // The first row is written twice. Debuggers take the code between the first two rows for a prologue, and stop after
    // it. An empty prologue makes them stop at the function's first address.
    for offset in [0, 0, INSTRUCTION_BYTES] {
        let row = lines.row();
        row.address_offset = offset;
        row.file = file;
        row.line = line;
        lines.generate_row();
    }
    lines.end_sequence(OPERATOR_BYTES);
}

/// Adds a tensor, at its address in the device's memory.
fn variable(unit: &mut Unit, name: &str, index: u32, of_type: Option<UnitEntryId>) {
    let mut location = Expression::new();
    location.op_addr(Symbol::Value(index).address());
    let variable = unit.add(unit.root(), DW_TAG_variable);
    let entry = unit.get_mut(variable);
    entry.set(DW_AT_name, AttributeValue::String(name.into()));
    entry.set(DW_AT_external, AttributeValue::Flag(true));
    entry.set(DW_AT_location, AttributeValue::Exprloc(location));
    entry.set(DW_AT_address_class, AttributeValue::AddressClass(GLOBAL));
    if let Some(of_type) = of_type {
        entry.set(DW_AT_type, AttributeValue::UnitRef(of_type));
    }
}

/// The types of tensors that were added, so that each is added only once.
#[derive(Default)]
struct Types {
    elements: HashMap<&'static str, UnitEntryId>,
    arrays: HashMap<(&'static str, Vec<Option<u64>>), UnitEntryId>,
}

impl Types {
    /// Returns the type of a tensor. `None` if debuggers cannot show such elements, or if the file does not say the
    /// tensor's type and dimensions.
    fn of(&mut self, unit: &mut Unit, value: &Value) -> Option<UnitEntryId> {
        let (name, encoding, bytes) = element(value.dtype?)?;
        let element = *self.elements.entry(name).or_insert_with(|| {
            let id = unit.add(unit.root(), DW_TAG_base_type);
            let entry = unit.get_mut(id);
            entry.set(DW_AT_name, AttributeValue::String(name.into()));
            entry.set(DW_AT_encoding, AttributeValue::Encoding(encoding));
            entry.set(DW_AT_byte_size, AttributeValue::Udata(bytes));
            id
        });
        let shape = value.shape.as_deref()?;
        if shape.is_empty() {
            return Some(element);
        }
        // A dimension that is only known in a run has no count.
        let counts: Vec<Option<u64>> = shape.iter().map(|dimension| dimension.parse().ok()).collect();
        Some(*self.arrays.entry((name, counts)).or_insert_with_key(|(_, counts)| {
            let array = unit.add(unit.root(), DW_TAG_array_type);
            unit.get_mut(array).set(DW_AT_type, AttributeValue::UnitRef(element));
            for count in counts {
                let range = unit.add(array, DW_TAG_subrange_type);
                if let Some(count) = count {
                    unit.get_mut(range).set(DW_AT_count, AttributeValue::Udata(*count));
                }
            }
            array
        }))
    }
}

/// Returns an element type as debuggers know it: its name, its encoding, and its size in bytes.
fn element(dtype: DType) -> Option<(&'static str, DwAte, u64)> {
    Some(match dtype {
        DType::F16 => ("float16", DW_ATE_float, 2),
        DType::F32 => ("float", DW_ATE_float, 4),
        DType::F64 => ("double", DW_ATE_float, 8),
        DType::I8 => ("int8_t", DW_ATE_signed, 1),
        DType::I16 => ("int16_t", DW_ATE_signed, 2),
        DType::I32 => ("int32_t", DW_ATE_signed, 4),
        DType::I64 => ("int64_t", DW_ATE_signed, 8),
        DType::U8 => ("uint8_t", DW_ATE_unsigned, 1),
        DType::U16 => ("uint16_t", DW_ATE_unsigned, 2),
        DType::U32 => ("uint32_t", DW_ATE_unsigned, 4),
        DType::U64 => ("uint64_t", DW_ATE_unsigned, 8),
        DType::Bool => ("bool", DW_ATE_boolean, 1),
        _ => return None,
    })
}

/// Returns a text without zero bytes. Texts in debug information end with a zero.
fn without_zeros(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|byte| *byte != 0).collect()
}

impl Writer for Section<'_> {
    type Endian = LittleEndian;

    fn endian(&self) -> LittleEndian {
        LittleEndian
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.write(bytes)
    }

    fn write_at(&mut self, offset: usize, bytes: &[u8]) -> Result<()> {
        self.bytes.write_at(offset, bytes)
    }

    fn write_address(&mut self, address: Address, size: u8) -> Result<()> {
        let value = match address {
            Address::Constant(value) => value,
            Address::Symbol { symbol, addend } => {
                let symbol = Symbol::from(symbol);
                let offset = self.bytes.len() as u64;
                match self.place.of(symbol) {
                    Some(base) => base.wrapping_add_signed(addend),
                    None => {
                        self.relocations.push(Relocation { offset, symbol, addend });
                        0
                    }
                }
            }
        };
        self.bytes.write_udata(value, size)
    }
}
