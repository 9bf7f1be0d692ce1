use std::collections::HashMap;

use super::{Node, NodeId};

/// The most values of a pickle, which is more than a checkpoint of 200,000 tensors has.
const MOST_NODES: usize = 1 << 22;

/// Why a pickle cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PickleError {
    /// It needs something that could execute code.
    #[error(
        "its pickle needs '{0}', which is none of the names that build tensors and plain values; nothing else is executed"
    )]
    Name(String),
    /// It has an operation that no file of `torch.save` needs.
    #[error("its pickle has the operation 0x{code:02x} at byte {at}, which building tensors does not need")]
    Operation {
        /// The operation.
        code: u8,
        /// Where it is.
        at: usize,
    },
    /// It is damaged.
    #[error("its pickle is damaged at byte {at}: {reason}")]
    Damaged {
        /// Where the damage is.
        at: usize,
        /// What is wrong.
        reason: &'static str,
    },
}

/// A pickle that was read.
#[derive(Debug)]
pub(crate) struct Pickle {
    nodes: Vec<Node>,
    root: NodeId,
}

impl Pickle {
    /// Reads a pickle.
    ///
    /// # Errors
    /// Returns an error if it needs a name or an operation that does not only build tensors and plain values, or is
    /// damaged.
    pub fn read(bytes: &[u8]) -> Result<Self, PickleError> {
        let mut machine = Machine {
            bytes,
            at: 0,
            nodes: vec![Node::Nothing],
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
            copies: MOST_NODES,
        };
        let root = machine.run()?;
        Ok(Self { nodes: machine.nodes, root })
    }

    /// Returns the value that the pickle is.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// Returns a value.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }
}

/// The value that every `None` is.
const NOTHING: NodeId = NodeId(0);

pub(super) struct Machine<'b> {
    bytes: &'b [u8],
    at: usize,
    nodes: Vec<Node>,
    stack: Vec<NodeId>,
    /// The heights of the stack at its marks.
    marks: Vec<usize>,
    memo: HashMap<u32, NodeId>,
    /// How many parts of values may still be copied.
    pub(super) copies: usize,
}

pub(super) type Done<T = ()> = Result<T, PickleError>;

impl<'b> Machine<'b> {
    fn run(&mut self) -> Done<NodeId> {
        loop {
            let start = self.at;
            let code = self.take(1)?[0];
            match code {
                b'.' => return self.pop(),
                0x80 => drop(self.take(1)?),
                0x95 => drop(self.take(8)?),
                b'(' => self.marks.push(self.stack.len()),
                b'0' => drop(self.pop()?),
                b'1' => drop(self.above_mark()?),
                b'2' => {
                    let top = self.top()?;
                    self.stack.push(top);
                }
                b'N' => self.stack.push(NOTHING),
                0x88 | 0x89 => self.push(Node::Bool(code == 0x88))?,
                b'J' => {
                    let number = self.number(4)? as u32;
                    self.push(Node::Int(i64::from(number.cast_signed())))?;
                }
                b'K' | b'M' => {
                    let number = self.number(if code == b'K' { 1 } else { 2 })?;
                    self.push(Node::Int(number as i64))?;
                }
                0x8a => self.long()?,
                b'G' => {
                    self.take(8)?;
                    self.push(Node::Float)?;
                }
                b'X' | 0x8c | 0x8d => {
                    let text = self.counted(match code {
                        b'X' => 4,
                        0x8c => 1,
                        _ => 8,
                    })?;
                    let text = std::str::from_utf8(text).map_err(|_| self.damaged("a text is not UTF-8"))?;
                    self.push(Node::Text(text.into()))?;
                }
                // Bytes, which no tensor depends on.
                b'B' | b'C' | 0x8e => {
                    self.counted(match code {
                        b'B' => 4,
                        b'C' => 1,
                        _ => 8,
                    })?;
                    self.stack.push(NOTHING);
                }
                b')' | b']' => self.push(Node::Sequence(Vec::new()))?,
                b'}' | 0x8f => {
                    self.push(if code == b'}' { Node::Dict(Vec::new()) } else { Node::Sequence(Vec::new()) })?
                }
                b't' | b'l' => {
                    let items = self.above_mark()?;
                    self.push(Node::Sequence(items))?;
                }
                0x85..=0x87 => {
                    let from = self.stack.len().checked_sub(usize::from(code - 0x84));
                    let from = from.filter(|&from| from >= self.floor());
                    let items = self.stack.split_off(from.ok_or_else(|| self.damaged("a tuple lacks values"))?);
                    self.push(Node::Sequence(items))?;
                }
                b'd' => {
                    let items = self.above_mark()?;
                    let pairs = self.pairs(&items)?;
                    self.push(Node::Dict(pairs))?;
                }
                b'a' => {
                    let item = self.pop()?;
                    self.append(vec![item])?;
                }
                b'e' | 0x90 => {
                    let items = self.above_mark()?;
                    self.append(items)?;
                }
                b's' => {
                    let (value, key) = (self.pop()?, self.pop()?);
                    self.set(vec![(key, value)])?;
                }
                b'u' => {
                    let items = self.above_mark()?;
                    let pairs = self.pairs(&items)?;
                    self.set(pairs)?;
                }
                b'c' => {
                    let (module, name) = (self.line()?, self.line()?);
                    self.global(format!("{module} {name}"))?;
                }
                0x93 => {
                    let (name, module) = (self.pop()?, self.pop()?);
                    let (name, module) = (self.text_of(name)?, self.text_of(module)?);
                    self.global(format!("{module} {name}"))?;
                }
                b'R' => {
                    let (arguments, function) = (self.pop()?, self.pop()?);
                    match (self.node(function), self.node(arguments)) {
                        // A shape is the sequence that it is made of.
                        (Node::Global(name), Node::Sequence(given)) if &**name == "torch Size" && given.len() == 1 => {
                            self.stack.push(given[0]);
                        }
                        _ => {
                            let made = self.call(function, arguments)?;
                            self.push(made)?;
                        }
                    }
                }
                // The attributes of an ordered dictionary, such as the versions of a model's modules.
                b'b' => {
                    self.pop()?;
                    let top = self.top()?;
                    if !matches!(self.node(top), Node::Dict(_)) {
                        return Err(PickleError::Operation { code, at: start });
                    }
                }
                b'Q' => {
                    let id = self.pop()?;
                    let storage = self.storage(id)?;
                    self.push(storage)?;
                }
                b'q' | b'r' => {
                    let place = self.number(if code == b'q' { 1 } else { 4 })? as u32;
                    let top = self.top()?;
                    self.memo.insert(place, top);
                }
                0x94 => {
                    let (place, top) = (self.memo.len() as u32, self.top()?);
                    self.memo.insert(place, top);
                }
                b'h' | b'j' => {
                    let place = self.number(if code == b'h' { 1 } else { 4 })? as u32;
                    let known = self.memo.get(&place).copied();
                    let known = known.ok_or_else(|| self.damaged("a value that is taken again was never kept"))?;
                    self.stack.push(known);
                }
                code => return Err(PickleError::Operation { code, at: start }),
            }
        }
    }

    /// Returns the pairs of a sequence of pairs.
    pub(super) fn items(&self, of: NodeId) -> Done<Vec<(NodeId, NodeId)>> {
        let wrong = || self.damaged("a dictionary is made of something else than pairs");
        let Node::Sequence(items) = self.node(of) else { return Err(wrong()) };
        let pair = |&item: &NodeId| match self.node(item) {
            Node::Sequence(pair) if pair.len() == 2 => Ok((pair[0], pair[1])),
            _ => Err(wrong()),
        };
        items.iter().map(pair).collect()
    }

    fn append(&mut self, items: Vec<NodeId>) -> Done {
        let top = self.top()?;
        match &mut self.nodes[top.0 as usize] {
            Node::Sequence(list) => list.extend(items),
            _ => return Err(self.damaged("something is appended to no list")),
        }
        Ok(())
    }

    fn set(&mut self, pairs: Vec<(NodeId, NodeId)>) -> Done {
        let top = self.top()?;
        match &mut self.nodes[top.0 as usize] {
            Node::Dict(dict) => dict.extend(pairs),
            _ => return Err(self.damaged("an item is set in no dictionary")),
        }
        Ok(())
    }

    fn pairs(&self, items: &[NodeId]) -> Done<Vec<(NodeId, NodeId)>> {
        let (pairs, rest) = items.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(self.damaged("a key has no value"));
        }
        Ok(pairs.iter().map(|&[key, value]| (key, value)).collect())
    }

    fn long(&mut self) -> Done {
        let length = self.take(1)?[0].into();
        let bytes = self.take(length)?;
        // Two's complement: the last byte has the sign.
        let fill = if bytes.last().is_some_and(|last| last & 0x80 != 0) { 0xff } else { 0 };
        let mut number = [fill; 8];
        let node = match bytes.len() {
            ..=8 => {
                number[..bytes.len()].copy_from_slice(bytes);
                Node::Int(i64::from_le_bytes(number))
            }
            _ => Node::Nothing,
        };
        self.push(node)
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    fn text_of(&self, id: NodeId) -> Done<String> {
        match self.node(id) {
            Node::Text(text) => Ok(text.to_string()),
            _ => Err(self.damaged("a name is no text")),
        }
    }

    pub(super) fn push(&mut self, node: Node) -> Done {
        if self.nodes.len() >= MOST_NODES {
            return Err(self.damaged("it has more values than any file of tensors"));
        }
        self.stack.push(NodeId(self.nodes.len() as u32));
        self.nodes.push(node);
        Ok(())
    }

    /// The height of the stack below which the values belong to what is around the last mark.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) -> Done<NodeId> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    fn top(&self) -> Done<NodeId> {
        let top = self.stack.last().copied().filter(|_| self.stack.len() > self.floor());
        top.ok_or_else(|| self.damaged("a value is taken where none is"))
    }

    fn above_mark(&mut self) -> Done<Vec<NodeId>> {
        match self.marks.pop() {
            Some(mark) => Ok(self.stack.split_off(mark)),
            None => Err(self.damaged("there is no mark")),
        }
    }

    fn take(&mut self, count: usize) -> Done<&'b [u8]> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| self.damaged("it ends early"))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self, bytes: usize) -> Done<u64> {
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(self.take(bytes)?);
        Ok(u64::from_le_bytes(number))
    }

    /// Takes bytes behind their length, which is a number of this many bytes.
    fn counted(&mut self, prefix: usize) -> Done<&'b [u8]> {
        let length = self.number(prefix)?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    fn line(&mut self) -> Done<String> {
        let rest = &self.bytes[self.at..];
        let end = memchr::memchr(b'\n', rest).ok_or_else(|| self.damaged("a name does not end"))?;
        let line = std::str::from_utf8(&rest[..end]).map_err(|_| self.damaged("a name is not UTF-8"))?;
        self.at += end + 1;
        Ok(line.to_owned())
    }

    pub(super) fn damaged(&self, reason: &'static str) -> PickleError {
        PickleError::Damaged { at: self.at, reason }
    }
}
