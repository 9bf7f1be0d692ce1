//! Gears: shapes that the vendor's converter fixes in advance. A program chooses one of them for a run. An `.onnx` file
//! has no gears, so the user sets them in the converter's notation: `OPSCOPE_ACL_DYNAMIC_BATCH=1,2,4`,
//! `OPSCOPE_ACL_DYNAMIC_IMAGE_SIZE='224,224;448,448'` or `OPSCOPE_ACL_DYNAMIC_DIMS='1,16;8,64'`.

use opscope::onnx::{Dim, Graph};
use opscope::tensor::DType;

use super::port::{Port, bound_sizes, bytes_of};
use crate::border::{Failure, codes};

const BATCH: &str = "OPSCOPE_ACL_DYNAMIC_BATCH";
const IMAGE_SIZE: &str = "OPSCOPE_ACL_DYNAMIC_IMAGE_SIZE";
const DIMS: &str = "OPSCOPE_ACL_DYNAMIC_DIMS";

/// The largest number of gears: as many as fit into the structs of the interface.
pub const MOST: usize = 128;

/// `ACL_DYNAMIC_TENSOR_NAME`: the name of the input that a converted model with gears has after the model's own inputs.
/// On a device, it carries the choice of the gear.
pub const INPUT: &str = "ascend_mbatch_shape_data";

/// The type of that input.
pub const INPUT_TYPE: DType = DType::I32;

/// The dimensions in which gears differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The first dimension of the inputs.
    Batch,
    /// Height and width of the inputs: their last two dimensions of four.
    ImageSize,
    /// Every free dimension of the inputs.
    Dims,
}

/// The gears of a model.
#[derive(Debug)]
pub struct Gears {
    pub kind: Kind,
    /// The gears in the user's order.
    pub all: Vec<Gear>,
}

/// A gear.
#[derive(Debug)]
pub struct Gear {
    /// The user's numbers: a batch size, a height and width, or the sizes of the free dimensions in the order of the
    /// inputs.
    pub sizes: Vec<usize>,
    /// The shape of each input.
    pub inputs: Vec<Vec<usize>>,
    /// The shape of each output; `None` if it does not follow from the shapes of the inputs.
    pub outputs: Vec<Option<Vec<usize>>>,
}

/// Why gears are wrong.
#[derive(Debug, thiserror::Error)]
enum WrongGears {
    #[error("it is written as '{}'", .0.example())]
    Syntax(Kind),
    #[error("there are {0} gears, and a model has 1 to {MOST}")]
    Count(usize),
    #[error(
        "{}; input '{}' has the shape {}; OPSCOPE_ACL_INPUT_SHAPE fixes the others",
        kind.condition(), input.name, input.shape()
    )]
    Free { kind: Kind, input: Port },
    #[error("the inputs have {free} free dimensions, and a gear has {sizes} sizes")]
    Sizes { free: usize, sizes: usize },
    #[error("the gear {sizes:?} gives input '{input}' two sizes for one dimension")]
    TwoSizes { sizes: Vec<usize>, input: String },
}

impl Gears {
    /// Returns the gears that the user sets for a graph; `None` if there are none, or the shapes of all inputs are
    /// fixed.
    pub fn of(graph: &Graph) -> Result<Option<Self>, Failure> {
        let given: Vec<_> = [(BATCH, Kind::Batch), (IMAGE_SIZE, Kind::ImageSize), (DIMS, Kind::Dims)]
            .into_iter()
            .filter_map(|(variable, kind)| Some((variable, kind, std::env::var_os(variable)?)))
            .collect();
        let [(variable, kind, text)] = &given[..] else {
            let Some((first, ..)) = given.first() else { return Ok(None) };
            return Err(wrong(
                first,
                "it is set",
                &format!("a model has gears of one kind, and {} is set too", given[1].0),
            ));
        };
        let text = text.to_string_lossy();
        Self::parse(graph, *kind, &text).map_err(|error| wrong(variable, &format!("'{text}'"), &error.to_string()))
    }

    fn parse(graph: &Graph, kind: Kind, text: &str) -> Result<Option<Self>, WrongGears> {
        let (inputs, outputs) = (Port::of(graph, &graph.inputs), Port::of(graph, &graph.outputs));
        if inputs.iter().all(|input| input.fixed().is_some()) {
            return Ok(None);
        }
        inputs.iter().try_for_each(|input| kind.check(input))?;
        let gears = kind.split(text)?;
        if gears.is_empty() || gears.len() > MOST {
            return Err(WrongGears::Count(gears.len()));
        }
        let free = inputs.iter().map(|input| input.free_axes().len()).sum();
        let gear = |sizes| Gear::new(kind, sizes, free, &inputs, &outputs);
        Ok(Some(Self { kind, all: gears.into_iter().map(gear).collect::<Result<_, _>>()? }))
    }

    /// Returns the number of elements of the input that carries the choice.
    pub fn choice_elements(&self) -> usize {
        self.all.first().map_or(0, |gear| gear.sizes.len())
    }

    /// Returns the size in bytes of the input that carries the choice.
    pub fn choice_bytes(&self) -> usize {
        bytes_of(INPUT_TYPE, &[self.choice_elements()]).unwrap_or(0)
    }

    /// Returns the shape of an input in the gear where it is largest.
    pub fn largest_input(&self, index: usize) -> Option<&[usize]> {
        largest(self.all.iter().filter_map(|gear| gear.inputs.get(index)))
    }

    /// Returns the shape of an output in the gear where it is largest; `None` unless it is known in every gear.
    pub fn largest_output(&self, index: usize) -> Option<&[usize]> {
        let shapes: Option<Vec<_>> = self.all.iter().map(|gear| gear.outputs.get(index)?.as_ref()).collect();
        largest(shapes?.into_iter())
    }
}

impl Kind {
    /// Checks that gears of this kind fix all free dimensions of an input.
    fn check(self, input: &Port) -> Result<(), WrongGears> {
        let (free, rank) = (input.free_axes(), input.dims.as_ref().map(Vec::len));
        let right = match self {
            _ if rank.is_none() => false,
            _ if free.is_empty() => true,
            Self::Batch => free == [0],
            Self::ImageSize => free == [2, 3] && rank == Some(4),
            Self::Dims => true,
        };
        if right { Ok(()) } else { Err(WrongGears::Free { kind: self, input: input.clone() }) }
    }

    /// Returns the condition that inputs have to meet.
    fn condition(self) -> &'static str {
        match self {
            Self::Batch => "only the first dimension of an input may be free",
            Self::ImageSize => "only the last two of four dimensions of an input may be free",
            Self::Dims => "the number of dimensions has to be known",
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Batch => "1,2,4",
            Self::ImageSize => "224,224;448,448",
            Self::Dims => "1,16;8,64",
        }
    }

    fn split(self, text: &str) -> Result<Vec<Vec<usize>>, WrongGears> {
        let number = |text: &str| text.trim().parse().ok().filter(|size| *size > 0);
        let numbers = |text: &str| text.split(',').map(number).collect::<Option<Vec<usize>>>();
        let parts = || text.split(';').filter(|part| !part.trim().is_empty());
        let gears: Option<Vec<Vec<usize>>> = match self {
            Self::Batch => numbers(text).map(|sizes| sizes.into_iter().map(|size| vec![size]).collect()),
            Self::ImageSize => parts().map(|part| numbers(part).filter(|sizes| sizes.len() == 2)).collect(),
            Self::Dims => parts().map(numbers).collect(),
        };
        gears.ok_or(WrongGears::Syntax(self))
    }
}

impl Gear {
    fn new(kind: Kind, sizes: Vec<usize>, free: usize, inputs: &[Port], outputs: &[Port]) -> Result<Self, WrongGears> {
        if kind == Kind::Dims && sizes.len() != free {
            return Err(WrongGears::Sizes { free, sizes: sizes.len() });
        }
        let mut next = sizes.iter().copied();
        let mut shape = |input: &Port| {
            let free = input.free_axes();
            let mut of_input = if kind == Kind::Dims { None } else { Some(sizes.iter().copied()) };
            let dims = input.dims.iter().flatten().enumerate();
            let size = |(axis, dim): (usize, &Dim)| match dim {
                Dim::Fixed(size) => Some(*size),
                Dim::Symbol(_) if free.contains(&axis) => of_input.as_mut().map_or_else(|| next.next(), Iterator::next),
                Dim::Symbol(_) => None,
            };
            dims.map(size).collect::<Option<Vec<usize>>>().unwrap_or_default()
        };
        let shapes: Vec<Vec<usize>> = inputs.iter().map(&mut shape).collect();
        let bound = bound_sizes(inputs.iter().zip(&shapes).map(|(port, shape)| (port, shape.as_slice())));
        for (input, shape) in inputs.iter().zip(&shapes) {
            // All dimensions with the same name have the same size.
            if input.fixed_with(&bound).is_some_and(|agreed| agreed != *shape) {
                return Err(WrongGears::TwoSizes { sizes, input: input.name.clone() });
            }
        }
        let outputs = outputs.iter().map(|output| output.fixed_with(&bound)).collect();
        Ok(Self { sizes, inputs: shapes, outputs })
    }
}

fn largest<'a>(shapes: impl Iterator<Item = &'a Vec<usize>>) -> Option<&'a [usize]> {
    shapes.max_by_key(|shape| shape.iter().fold(1usize, |all, &size| all.saturating_mul(size))).map(Vec::as_slice)
}

fn wrong(variable: &str, value: &str, reason: &str) -> Failure {
    Failure::wrong_value_of(codes::GE_SHAPE_INVALID, variable, value, reason)
}

#[cfg(test)]
mod tests {
    use opscope_model::testing::GraphBuilder;

    use super::*;

    /// Makes a graph with one input and one output; a size of 0 is a free dimension with its own name.
    fn graph(input: &[usize], output: &[usize]) -> Graph {
        let mut graph =
            GraphBuilder::new("g").input("x", input).operator("o", "Op", &["x"], &["y"]).output("y").build();
        let dims = |shape: &[usize]| {
            let dim = |(axis, &size): (usize, &usize)| match size {
                0 => Dim::Symbol(format!("d{axis}")),
                size => Dim::Fixed(size),
            };
            Some(shape.iter().enumerate().map(dim).collect())
        };
        let (x, y) = (graph.inputs[0], graph.outputs[0]);
        graph.values[x.index()].shape = dims(input);
        graph.values[y.index()].shape = dims(output);
        graph
    }

    fn parse(input: &[usize], output: &[usize], kind: Kind, text: &str) -> Result<Option<Gears>, WrongGears> {
        Gears::parse(&graph(input, output), kind, text)
    }

    #[test]
    fn gears_are_shapes_of_inputs_and_of_what_follows_from_them() {
        let batch = parse(&[0, 3], &[0, 10], Kind::Batch, "1, 4,2").expect("gears").expect("some");
        let shapes: Vec<_> = batch.all.iter().map(|gear| (&gear.inputs[0][..], gear.outputs[0].as_deref())).collect();
        assert_eq!(shapes, [(&[1, 3][..], Some(&[1, 10][..])), (&[4, 3], Some(&[4, 10])), (&[2, 3], Some(&[2, 10]))]);
        assert_eq!((batch.largest_input(0), batch.largest_output(0)), (Some(&[4, 3][..]), Some(&[4, 10][..])));
        assert_eq!((batch.choice_elements(), batch.choice_bytes()), (1, 4));

        let images = parse(&[1, 3, 0, 0], &[1, 2, 0, 0], Kind::ImageSize, "8,17;32,4;").expect("gears").expect("some");
        assert_eq!(images.all[1].inputs, [[1, 3, 32, 4]]);
        assert_eq!(images.largest_output(0), Some(&[1, 2, 8, 17][..]));

        let dims = parse(&[0, 3, 0], &[5, 0], Kind::Dims, "1,2;3,4").expect("gears").expect("some");
        assert_eq!((&dims.all[1].inputs[0][..], &dims.all[1].sizes[..]), (&[3, 3, 4][..], &[3, 4][..]));
        // The output has another free dimension.
        assert_eq!((dims.largest_output(0), dims.choice_bytes()), (None, 8));
    }

    #[test]
    fn a_model_without_free_dimensions_has_no_gears() {
        assert!(parse(&[2, 3], &[2, 10], Kind::Batch, "1,2").expect("no gears").is_none());
    }

    #[test]
    fn gears_that_do_not_fit_the_inputs_say_why() {
        for (input, kind, text, reason) in [
            (
                &[0, 0][..],
                Kind::Batch,
                "1",
                "only the first dimension of an input may be free; input 'x' has the shape [d0, d1]",
            ),
            (&[3, 0], Kind::Batch, "1", "only the first dimension"),
            (&[0, 3, 8, 0], Kind::ImageSize, "1,2", "only the last two of four dimensions"),
            (&[3, 0, 0], Kind::ImageSize, "1,2", "only the last two of four dimensions"),
            (&[0, 3], Kind::Batch, "", "it is written as '1,2,4'"),
            (&[0, 3], Kind::Batch, "1,0", "it is written as"),
            (&[0, 3], Kind::Batch, "1,-2", "it is written as"),
            (&[1, 3, 0, 0], Kind::ImageSize, "1,2;3", "it is written as '224,224;448,448'"),
            (&[1, 3, 0, 0], Kind::ImageSize, ";", "there are 0 gears"),
            (&[0, 0], Kind::Dims, "1,2;3", "the inputs have 2 free dimensions, and a gear has 1 sizes"),
        ] {
            let error = parse(input, &[1], kind, text).expect_err(text).to_string();
            assert!(error.contains(reason), "{error}");
        }
        let many = vec!["1"; MOST + 1].join(",");
        assert!(parse(&[0], &[1], Kind::Batch, &many).expect_err("too many").to_string().contains("129 gears"));
        assert!(parse(&[0], &[1], Kind::Batch, &many[2..]).is_ok());

        let mut shared = graph(&[0, 0], &[1]);
        let x = shared.inputs[0];
        shared.values[x.index()].shape = Some(vec![Dim::Symbol("n".to_owned()), Dim::Symbol("n".to_owned())]);
        assert!(Gears::parse(&shared, Kind::Dims, "2,2").is_ok());
        let error = Gears::parse(&shared, Kind::Dims, "2,3").expect_err("two sizes").to_string();
        assert!(error.contains("two sizes for one dimension"), "{error}");
        shared.values[x.index()].shape = None;
        let error = Gears::parse(&shared, Kind::Dims, "2,3").expect_err("no shape").to_string();
        assert!(error.contains("the number of dimensions has to be known"), "{error}");
    }
}
