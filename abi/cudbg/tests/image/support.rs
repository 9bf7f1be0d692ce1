//! Images of real models, and functions that read them.

use std::ops::Deref;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use gimli::{EndianRcSlice, LittleEndian};
use object::{Object, ObjectSection};
use opscope_cudbg::addresses::Addresses;
use opscope_cudbg::graph::Graph;
use opscope_cudbg::image::Image;
use opscope_debug::client::Client;
use opscope_debug::server::{Listen, ServerOptions};
use opscope_debug::{AttachOptions, Debugger};
use opscope_model::Fidelity;
use tempfile::TempDir;

/// Returns the graph of a model in `models`, as a client asks a debuggee for it.
pub fn graph_of(model: &str) -> Graph {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models")).join(model).with_extension("onnx");
    described(&Arc::new(opscope_onnx::Graph::load(&path).expect("the model")))
}

/// Returns a graph as a client asks a debuggee for it.
pub fn described(graph: &Arc<opscope_onnx::Graph>) -> Graph {
    let directory = tempfile::tempdir().expect("a directory");
    let debugger = Debugger::new().expect("a debugger");
    let loaded = debugger.load(graph, Fidelity::Exact);
    let listen = Listen::At(directory.path().join("socket"));
    let server = debugger.serve(ServerOptions { listen }).expect("a server");
    let client = Client::connect(server.path().expect("a socket")).expect("a connection");
    client.attach(AttachOptions::default()).expect("attached");
    Graph::of(&client, loaded.model()).expect("the graph")
}

/// An image whose listing is in a directory of its own.
pub struct Made {
    image: Image,
    _directory: TempDir,
}

impl Deref for Made {
    type Target = Image;

    fn deref(&self) -> &Image {
        &self.image
    }
}

/// Returns the graph and the image of a model, whose listing is written.
pub fn image_of(model: &str) -> (Graph, Made) {
    let graph = graph_of(model);
    let image = image(&graph);
    image.listing.write().expect("the listing");
    (graph, image)
}

/// Returns the image of a graph.
pub fn image(graph: &Graph) -> Made {
    let directory = tempfile::tempdir().expect("a directory");
    let addresses = addresses_of(graph);
    let image = Image::new(graph, &addresses, directory.path().to_owned()).expect("an image");
    Made { image, _directory: directory }
}

/// Returns the addresses of a model that is the only one.
pub fn addresses_of(graph: &Graph) -> Addresses {
    let mut addresses = Addresses::default();
    addresses.add(graph.model, graph.operators.len() as u32, graph.values.len() as u32);
    addresses
}

/// The lines of an image.
pub struct Lines {
    /// The listing.
    pub file: PathBuf,
    /// Addresses with their lines, in the order of the line table.
    rows: Vec<(u64, u64)>,
}

impl Lines {
    pub fn read(image: &[u8]) -> Self {
        let file = object::File::parse(image).expect("an ELF file");
        let section = |id: gimli::SectionId| -> Result<_, gimli::Error> {
            let data = file.section_by_name(id.name()).and_then(|section| section.data().ok()).unwrap_or_default();
            Ok(EndianRcSlice::new(Rc::from(data), LittleEndian))
        };
        let dwarf = gimli::Dwarf::load(section).expect("debug information");
        let header = dwarf.units().next().expect("units").expect("a unit");
        let unit = dwarf.unit(header).expect("a unit");
        let text = |value: Option<EndianRcSlice<LittleEndian>>| {
            String::from_utf8(value.expect("a text").to_vec()).expect("UTF-8")
        };
        let file = PathBuf::from(text(unit.comp_dir.clone())).join(text(unit.name.clone()));
        let program = unit.line_program.clone().expect("a line table");
        let mut read = program.rows();
        let mut rows = Vec::new();
        while let Some((_, row)) = read.next_row().expect("rows") {
            if !row.end_sequence() {
                rows.push((row.address(), row.line().map_or(0, u64::from)));
            }
        }
        Self { file, rows }
    }

    /// Returns the addresses of a line.
    pub fn rows_of(&self, line: u64) -> Vec<u64> {
        self.rows.iter().filter(|row| row.1 == line).map(|row| row.0).collect()
    }
}
