//! The image of a model, read as debuggers read it: symbols, addresses and lines.

mod hostile;
mod support;
mod tools;

use std::fs;
use std::sync::Arc;

use object::elf::{ET_EXEC, ET_REL, FileHeader64};
use object::read::elf::FileHeader as _;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use opscope_cudbg::addresses::{self, OPERATOR_BYTES};
use opscope_cudbg::image::Image;
use opscope_debug::{ModelId, Moment};
use opscope_model::testing::GraphBuilder;
use support::{Lines, addresses_of, described, graph_of, image_of};

#[test]
fn the_header_is_that_of_a_file_for_nvidias_devices() {
    let (_, image) = image_of("digits_cnn");
    for (bytes, e_type) in [(&image.relocated, ET_EXEC), (&image.non_relocated, ET_REL)] {
        let header = FileHeader64::<object::LittleEndian>::parse(&bytes[..]).expect("an ELF header");
        let endian = object::LittleEndian;
        assert_eq!(&bytes[..9], b"\x7fELF\x02\x01\x01\x33\x07");
        assert_eq!((header.e_type(endian), header.e_machine(endian).0), (e_type, 190));
        assert_eq!((header.e_flags(endian).0, header.e_phnum(endian), header.e_entry(endian)), (0x4b_054b, 0, 0));
    }
}

#[test]
fn every_operator_is_a_function_at_its_address_in_a_section_of_its_own() {
    for model in ["digits_cnn", "tiny_transformer", "token_classifier"] {
        let (graph, image) = image_of(model);
        let file = object::File::parse(&image.relocated[..]).expect("an ELF file");
        let functions: Vec<_> = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text).collect();
        assert_eq!(functions.len(), graph.operators.len());
        for (index, (symbol, operator)) in functions.iter().zip(&graph.operators).enumerate() {
            let index = index as u32;
            let address = addresses::operator(graph.model, index, Moment::Before);
            assert_eq!((symbol.address(), symbol.size()), (address, OPERATOR_BYTES));
            assert_eq!(symbol.name(), Ok(operator.name.as_str()), "a name that debuggers can parse is kept");
            let section = file.section_by_index(symbol.section_index().expect("a section")).expect("it exists");
            assert_eq!((section.address(), section.size()), (address, OPERATOR_BYTES));
            assert_eq!(section.index().0 as u64, Image::section(index));
            assert_eq!(section.name(), Ok(format!(".text.{}", operator.name).as_str()));
            assert_eq!(image.symbol(index), Some(operator.name.as_str()));
            assert_eq!(image.operator(&operator.name), Some(index));
        }
    }
}

#[test]
fn every_value_is_a_variable_at_its_address() {
    let (graph, image) = image_of("digits_cnn");
    let addresses = addresses_of(&graph);
    let file = object::File::parse(&image.relocated[..]).expect("an ELF file");
    let variables: Vec<_> = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Data).collect();
    assert_eq!(variables.len(), graph.values.len());
    for (index, (symbol, value)) in variables.iter().zip(&graph.values).enumerate() {
        assert_eq!(symbol.name(), Ok(value.name.as_str()));
        assert_eq!(Some(symbol.address()), addresses.tensor(graph.model, index as u32));
    }
    // The sizes of weights are known from the file. The size of a batch is known only in a run.
    let size = |name: &str| variables.iter().find(|symbol| symbol.name() == Ok(name)).expect("the value").size();
    assert_eq!((size("conv1.weight"), size("/conv1/Conv_output_0")), (8 * 9 * 4, 0));
}

#[test]
fn addresses_lead_to_the_operators_lines_and_lines_to_the_operators_first_addresses() {
    let (graph, image) = image_of("tiny_transformer");
    let lines = Lines::read(&image.relocated);
    let text = fs::read_to_string(&lines.file).expect("the listing");
    let listed: Vec<_> = text.lines().collect();
    assert_eq!(listed.len(), graph.operators.len());
    for (index, operator) in graph.operators.iter().enumerate() {
        let before = addresses::operator(graph.model, index as u32, Moment::Before);
        let after = addresses::operator(graph.model, index as u32, Moment::After);
        // The line is there twice at the beginning, so that a debugger that skips a prologue stays in it.
        assert_eq!(lines.rows_of(index as u64 + 1), [before, before, after]);
        let line = listed[index];
        assert!(line.starts_with(&format!("#{index} {} {}: ", operator.op_type, operator.name)), "{line}");
    }
}

#[test]
fn the_listing_has_a_line_for_each_operator_with_types_and_shapes() {
    let (_, image) = image_of("digits_cnn");
    let lines: Vec<_> = image.listing.text.lines().collect();
    assert_eq!(lines.len(), 16);
    let convolution = "#0 Conv /conv1/Conv: image float32[batch, 1, 8, 8], conv1.weight float32[8, 1, 3, 3], \
                       conv1.bias float32[8] -> /conv1/Conv_output_0";
    assert!(lines[0].starts_with(convolution), "{}", lines[0]);
    assert!(lines[15].ends_with("-> probabilities float32[batch, 10]"), "{}", lines[15]);
}

#[test]
fn the_other_image_has_relocations_that_lead_to_the_same_addresses_and_the_same_size() {
    let (graph, image) = image_of("digits_cnn");
    assert_eq!(image.relocated.len(), image.non_relocated.len(), "a debugger learns one size for both");
    assert_ne!(image.relocated, image.non_relocated);
    let relocated = object::File::parse(&image.relocated[..]).expect("an ELF file");
    let other = object::File::parse(&image.non_relocated[..]).expect("an ELF file");
    for section in other.sections() {
        assert_eq!(section.address(), 0, "{:?}", section.name());
    }
    for symbol in other.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
        assert_eq!(symbol.address(), 0, "a distance in its section");
    }
    assert!(relocated.sections().all(|section| section.relocations().next().is_none()));
    // If they are applied as a debugger applies them (the symbol's address plus the addend), the relocations turn one
    // image into the other.
    for name in [".debug_info", ".debug_line", ".debug_ranges"] {
        let section = other.section_by_name(name).expect("the section");
        let mut bytes = section.data().expect("its bytes").to_vec();
        let mut count = 0;
        for (offset, relocation) in section.relocations() {
            let object::RelocationTarget::Symbol(index) = relocation.target() else { panic!("no symbol") };
            let name = other.symbol_by_index(index).and_then(|symbol| symbol.name()).expect("a symbol");
            let symbol = relocated.symbols().find(|symbol| symbol.name() == Ok(name)).expect("the same symbol");
            let value = symbol.address().wrapping_add_signed(relocation.addend());
            bytes[offset as usize..][..8].copy_from_slice(&value.to_le_bytes());
            count += 1;
        }
        assert!(count >= graph.operators.len(), "{name}: {count} relocations");
        let expected = relocated.section_by_name(name).expect("the section");
        assert_eq!(Ok(&bytes[..]), expected.data(), "{name}");
    }
}

#[test]
fn a_large_graph_is_asked_for_page_by_page() {
    let mut builder = GraphBuilder::new("chain").input("v0", &[1, 4]);
    for index in 0..5000 {
        let (from, to) = (format!("v{index}"), format!("v{}", index + 1));
        builder = builder.operator(&format!("add_{index}"), "Add", &[&from, "v0"], &[&to]);
    }
    let graph = described(&Arc::new(builder.output("v5000").build()));
    assert_eq!((graph.operators.len(), graph.values.len()), (5000, 5001));
    for (index, operator) in graph.operators.iter().enumerate() {
        assert_eq!(operator.name, format!("add_{index}"));
        let names = |slots: &[Option<u32>]| -> Vec<String> {
            slots.iter().map(|slot| graph.values[slot.expect("a value") as usize].name.clone()).collect()
        };
        assert_eq!(names(&operator.inputs), [format!("v{index}"), "v0".into()]);
        assert_eq!(names(&operator.outputs), [format!("v{}", index + 1)]);
    }
}

#[test]
fn an_image_is_the_same_every_time_and_another_models_is_elsewhere() {
    let (mut graph, first) = image_of("digits_cnn");
    let mut addresses = addresses_of(&graph);
    let again = Image::new(&graph_of("digits_cnn"), &addresses, first.listing.directory.clone()).expect("an image");
    assert!(first.relocated == again.relocated && first.non_relocated == again.non_relocated);
    graph.model = ModelId(graph.model.0 + 1);
    addresses.add(graph.model, graph.operators.len() as u32, graph.values.len() as u32);
    let second = Image::new(&graph, &addresses, first.listing.directory.clone()).expect("an image");
    let symbols = |image: &Image| -> Vec<u64> {
        let file = object::File::parse(&image.relocated[..]).expect("an ELF file");
        file.symbols().map(|symbol| symbol.address()).filter(|address| *address > 0).collect()
    };
    let (first, second) = (symbols(&first), symbols(&second));
    assert!(first.len() == second.len() && first.iter().all(|address| !second.contains(address)));
}

#[test]
fn a_listing_is_written_once_and_never_into_a_directory_of_others() {
    use std::os::unix::fs::PermissionsExt;
    let (_, image) = image_of("digits_cnn");
    let path = image.listing.directory.join(&image.listing.file);
    let written = fs::metadata(&path).and_then(|file| file.modified()).expect("the listing");
    image.listing.write().expect("it is there");
    assert_eq!(fs::metadata(&path).and_then(|file| file.modified()).expect("the listing"), written);
    fs::write(&path, "forged").expect("a file");
    image.listing.write().expect("it is written anew");
    assert_eq!(fs::read_to_string(&path).expect("the listing"), image.listing.text);
    fs::set_permissions(&image.listing.directory, fs::Permissions::from_mode(0o777)).expect("permissions");
    let refused = image.listing.write().expect_err("others can write there").to_string();
    assert!(refused.contains("OPSCOPE_LISTINGS"), "{refused}");
}
