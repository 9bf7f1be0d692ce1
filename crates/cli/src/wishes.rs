//! From what the command line says of inputs and shapes to what the façade is asked for.

use opscope::benchmark::InputWish;
use opscope::inputs::{Data, NamedShape, ShapeWish};

use crate::options::{Inputs, PureData, ShapeChoice, ShapeSet};

impl Inputs {
    /// These inputs; files make batches unless each one says its shape itself.
    pub fn wish(&self, shapes: &ShapeChoice) -> InputWish {
        match self {
            Inputs::Generated { data: PureData::Zero, .. } => InputWish::Generated(Data::Zero),
            Inputs::Generated { data: PureData::Random, seed } => InputWish::Generated(Data::Random(*seed)),
            Inputs::Files(paths) => {
                InputWish::Files { paths: paths.clone(), join: *shapes != ShapeChoice::FromEachFile }
            }
        }
    }
}

impl ShapeChoice {
    /// One wish, or several for a table.
    pub fn wishes(&self) -> Vec<ShapeWish> {
        match self {
            ShapeChoice::FromInputs | ShapeChoice::FromEachFile => vec![ShapeWish::Smallest],
            ShapeChoice::Batch(batch) => vec![ShapeWish::Batch(batch.get() as usize)],
            ShapeChoice::HeightWidth { height, width } => {
                vec![ShapeWish::HeightWidth(height.get() as usize, width.get() as usize)]
            }
            ShapeChoice::Fixed(shapes) => vec![ShapeWish::Fixed(shapes.named())],
            ShapeChoice::Table(sets) => sets.iter().map(|set| ShapeWish::Fixed(set.named())).collect(),
        }
    }
}

impl ShapeSet {
    /// The shapes of the inputs that it names.
    pub fn named(&self) -> Vec<NamedShape> {
        let dims = |dims: &[u64]| dims.iter().map(|&dim| dim as usize).collect();
        self.0.iter().map(|shape| NamedShape { name: shape.name.clone(), dims: dims(&shape.dims) }).collect()
    }
}
