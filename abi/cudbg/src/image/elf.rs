//! The ELF file. It has a section with a function for each operator, a section for the tensors, and the debug
//! information.

use gimli::SectionId;
use object::Endianness;
use object::elf::{
    EM_CUDA, ET_EXEC, ET_REL, FileFlags, OsAbi, RelocationType, SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHN_UNDEF,
    SHT_NOBITS, SHT_PROGBITS, STB_GLOBAL, STT_FUNC, STT_OBJECT, SectionFlags, SectionType, SymbolInfo, SymbolOther,
    SymbolType,
};
use object::write::elf::{FileHeader, Rel, SectionHeader, SectionIndex, Sym, Writer};
use object::write::{Result, StringId};

use super::dwarf::{Relocation, Section};
use super::listing::Names;
use super::{Place, Symbol};
use crate::addresses::{OPERATOR_BYTES, TENSOR_BYTES};
use crate::graph::Graph;

/// The ABI in the header of files for NVIDIA's devices.
const CUDA_ABI: OsAbi = OsAbi(0x33);
const CUDA_ABI_VERSION: u8 = 7;

/// The device is an `sm_75`: its instructions have 16 bytes. Addresses have 64 bits.
const SM_75: FileFlags = FileFlags(0x004b_054b);

/// Marks a function that can be launched.
const ENTRY: SymbolOther = SymbolOther(0x10);

/// A 64-bit absolute address with an addend.
const ABSOLUTE_64: RelocationType = RelocationType(2);

/// The index of the first operator's section. The operators' sections come first, after the null section.
pub const FIRST_OPERATOR_SECTION: u32 = 1;

/// The section with the names of the operators as the file has them.
const RAW_NAMES: &str = ".opscope.operators";

/// An operator's instructions. They are never executed.
static CODE: [u8; OPERATOR_BYTES as usize] = [0; OPERATOR_BYTES as usize];

/// A section before it is written.
struct Part<'a> {
    name: StringId,
    kind: SectionType,
    flags: SectionFlags,
    address: u64,
    size: u64,
    align: u64,
    bytes: &'a [u8],
    offset: u64,
}

/// Writes the image of a model.
pub fn write(graph: &Graph, names: &Names, debug: &[(SectionId, Section)], place: Place) -> Result<Vec<u8>> {
    let text = section_names(names);
    let raw = raw_names(graph);
    let mut image = Vec::new();
    let mut writer = Writer::new(Endianness::Little, true, &mut image);
    writer.reserve_file_header();

    let mut parts = Vec::new();
    for (index, name) in text.iter().enumerate() {
        parts.push(Part {
            name: writer.add_section_name(name.as_bytes()),
            kind: SHT_PROGBITS,
            flags: SHF_ALLOC | SHF_EXECINSTR,
            address: place.of(Symbol::Operator(index as u32)).unwrap_or(0),
            size: OPERATOR_BYTES,
            align: OPERATOR_BYTES,
            bytes: &CODE,
            offset: 0,
        });
    }
    let values = names.values.len() as u64;
    if values > 0 {
        parts.push(Part {
            name: writer.add_section_name(b".tensors"),
            kind: SHT_NOBITS,
            flags: SHF_ALLOC | SHF_WRITE,
            address: place.of(Symbol::Value(0)).unwrap_or(0),
            size: values * TENSOR_BYTES,
            align: 64,
            bytes: &[],
            offset: 0,
        });
    }
    for (id, section) in debug {
        parts.push(Part::plain(writer.add_section_name(id.name().as_bytes()), section.bytes.slice()));
    }
    parts.push(Part::plain(writer.add_section_name(RAW_NAMES.as_bytes()), &raw));
    for part in &mut parts {
        writer.reserve_section_index();
        part.offset = writer.reserve(part.bytes.len() as u64, part.align);
    }

    let strings: Vec<_> =
        names.operators.iter().chain(&names.values).map(|name| writer.add_string(name.as_bytes())).collect();
    writer.reserve_null_symbol_index();
    let sections = (0..strings.len()).map(|index| section_of(index, names)).collect::<Vec<_>>();
    for section in &sections {
        writer.reserve_symbol_index(Some(*section));
    }
    let symtab = writer.reserve_symtab_section_index();
    writer.reserve_symtab();
    if writer.symtab_shndx_needed() {
        writer.reserve_symtab_shndx_section_index();
        writer.reserve_symtab_shndx();
    }
    writer.reserve_strtab_section_index();
    writer.reserve_strtab()?;

    let first_debug = FIRST_OPERATOR_SECTION + (text.len() + usize::from(values > 0)) as u32;
    let mut tables = Vec::new();
    for (index, (id, section)) in debug.iter().enumerate().filter(|(_, (_, section))| !section.relocations.is_empty()) {
        let name = writer.add_section_name(relocation_name(*id));
        writer.reserve_section_index();
        let offset = writer.reserve_relocations(section.relocations.len(), true);
        tables.push((name, SectionIndex(first_debug + index as u32), offset, &section.relocations));
    }
    writer.reserve_shstrtab_section_index();
    writer.reserve_shstrtab()?;
    writer.reserve_section_headers();

    let e_type = match place {
        Place::Relocated(..) => ET_EXEC,
        Place::NonRelocated => ET_REL,
    };
    writer.write_file_header(&FileHeader {
        os_abi: CUDA_ABI,
        abi_version: CUDA_ABI_VERSION,
        e_type,
        e_machine: EM_CUDA,
        e_entry: 0,
        e_flags: SM_75,
    })?;
    for part in &parts {
        writer.write_align(part.align);
        writer.write(part.bytes);
    }
    writer.write_null_symbol();
    for (index, (name, section)) in strings.iter().zip(&sections).enumerate() {
        let symbol = symbol_of(index, names);
        let (kind, other, size) = match symbol {
            Symbol::Operator(_) => (STT_FUNC, ENTRY, OPERATOR_BYTES),
            Symbol::Value(value) => (STT_OBJECT, SymbolOther(0), graph.values[value as usize].bytes().unwrap_or(0)),
        };
        let within = match symbol {
            Symbol::Operator(_) => 0,
            Symbol::Value(value) => u64::from(value) * TENSOR_BYTES,
        };
        let st_name = writer.string_offset(Some(*name));
        writer.write_symbol(&Sym {
            section: Some(section.0),
            st_name,
            st_info: info(kind),
            st_other: other,
            st_shndx: SHN_UNDEF,
            st_value: place.of(symbol).unwrap_or(within),
            st_size: size,
        });
    }
    writer.write_symtab_shndx();
    writer.write_strtab();
    for (_, _, _, relocations) in &tables {
        writer.write_align_relocation();
        for relocation in *relocations {
            writer.write_relocation(true, &entry(relocation, names));
        }
    }
    writer.write_shstrtab();

    writer.write_null_section_header();
    for part in &parts {
        let sh_name = writer.section_name_offset(Some(part.name));
        writer.write_section_header(&SectionHeader {
            sh_name,
            sh_type: part.kind,
            sh_flags: part.flags,
            sh_addr: part.address,
            sh_offset: part.offset,
            sh_size: part.size,
            sh_link: 0,
            sh_info: 0,
            sh_addralign: part.align,
            sh_entsize: 0,
        });
    }
    writer.write_symtab_section_header(1);
    writer.write_symtab_shndx_section_header();
    writer.write_strtab_section_header();
    for (name, section, offset, relocations) in &tables {
        writer.write_relocation_section_header(*name, *section, symtab, *offset, relocations.len(), true);
    }
    writer.write_shstrtab_section_header();
    Ok(image)
}

impl<'a> Part<'a> {
    /// Returns a section that debuggers read, and that is not in the device's memory.
    fn plain(name: StringId, bytes: &'a [u8]) -> Self {
        let size = bytes.len() as u64;
        Self { name, kind: SHT_PROGBITS, flags: SectionFlags(0), address: 0, size, align: 1, bytes, offset: 0 }
    }
}

/// Returns the names of the operators' sections.
fn section_names(names: &Names) -> Vec<String> {
    names.operators.iter().map(|name| format!(".text.{name}")).collect()
}

/// Returns the names of the operators as the file has them. Each name is its length in bytes, as a little-endian 32-bit
/// number, followed by its bytes.
fn raw_names(graph: &Graph) -> Vec<u8> {
    let names = graph.operators.iter().map(|operator| operator.name.as_bytes());
    names.flat_map(|name| [&(name.len() as u32).to_le_bytes()[..], name].concat()).collect()
}

/// Returns the symbol at an index of the symbol table, not counting the null symbol. Operators come first, then values.
fn symbol_of(index: usize, names: &Names) -> Symbol {
    match index.checked_sub(names.operators.len()) {
        None => Symbol::Operator(index as u32),
        Some(value) => Symbol::Value(value as u32),
    }
}

fn section_of(index: usize, names: &Names) -> SectionIndex {
    SectionIndex(match symbol_of(index, names) {
        Symbol::Operator(operator) => FIRST_OPERATOR_SECTION + operator,
        Symbol::Value(_) => FIRST_OPERATOR_SECTION + names.operators.len() as u32,
    })
}

fn entry(relocation: &Relocation, names: &Names) -> Rel {
    let index = match relocation.symbol {
        Symbol::Operator(operator) => operator,
        Symbol::Value(value) => names.operators.len() as u32 + value,
    };
    Rel { r_offset: relocation.offset, r_sym: 1 + index, r_type: ABSOLUTE_64, r_addend: relocation.addend }
}

fn info(kind: SymbolType) -> SymbolInfo {
    SymbolInfo::new(STB_GLOBAL, kind)
}

fn relocation_name(of: SectionId) -> &'static [u8] {
    match of {
        SectionId::DebugInfo => b".rela.debug_info",
        SectionId::DebugLine => b".rela.debug_line",
        SectionId::DebugRanges => b".rela.debug_ranges",
        _ => b".rela",
    }
}
