//! Parsing of tokens to the nodes of a document, by the grammar of libyaml's parser. [`Reader::document`] returns one
//! document after the other.

use std::collections::BTreeMap;

use super::cursor::Mark;
use super::scalar::Directive;
use super::scanner::{Scanner, TokenKind};
use super::{AMBIGUOUS, Problem};
use crate::limits;

/// The index of a node in its document.
pub(super) type NodeId = usize;

#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) mark: Mark,
}

#[derive(Debug)]
pub(super) enum NodeKind {
    Scalar {
        text: String,
        /// The tag, empty if there is none.
        tag: String,
        /// True if the text determines the type.
        is_implicit: bool,
    },
    Sequence(Vec<NodeId>),
    Mapping(Vec<(NodeId, NodeId)>),
    Alias(NodeId),
}

/// A parsed document.
pub(super) struct Document {
    pub(super) line: usize,
    pub(super) nodes: Vec<Node>,
    pub(super) root: NodeId,
}

pub(super) struct Reader<'a> {
    scanner: Scanner<'a>,
    nodes: Vec<Node>,
    anchors: BTreeMap<String, NodeId>,
    /// The prefixes of tags, by handle.
    tags: BTreeMap<String, String>,
    depth: usize,
}

/// The context of a node, which determines the collections that it can be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeContext {
    /// Within brackets.
    Flow,
    Block,
    /// In a mapping, where the entries of a sequence need no further indentation.
    Entry,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, Problem> {
        let mut scanner = Scanner::new(text)?;
        scanner.next()?;
        Ok(Self {
            scanner,
            nodes: Vec::new(),
            anchors: BTreeMap::new(),
            tags: BTreeMap::new(),
            depth: 0,
        })
    }

    /// Parses the next document, if there is one after `before` others.
    pub(super) fn document(&mut self, before: usize) -> Result<Option<Document>, Problem> {
        while before > 0 && *self.peek()? == TokenKind::DocumentEnd {
            self.scanner.next()?;
        }
        if before >= limits::YAML_DOCUMENTS {
            return Err(limit_error(self.scanner.mark()));
        }
        let is_bare = match self.peek()? {
            TokenKind::StreamEnd => return Ok(None),
            TokenKind::Directive(_) | TokenKind::DocumentStart => false,
            _ => before == 0,
        };
        let line = self.scanner.peek()?.mark.line;
        self.directives()?;
        if !is_bare {
            // Go does not read past the end of the first document.
            let refusal = match before {
                0 => "did not find expected <document start>".to_owned(),
                _ => format!("has text after the end of its document, {AMBIGUOUS}"),
            };
            self.expect(&TokenKind::DocumentStart, &refusal)?;
        }
        let is_empty = matches!(
            self.peek()?,
            TokenKind::Directive(_)
                | TokenKind::DocumentStart
                | TokenKind::DocumentEnd
                | TokenKind::StreamEnd
        );
        let root = if is_empty && !is_bare {
            self.empty()?
        } else {
            self.node(NodeContext::Block)?
        };
        if *self.peek()? == TokenKind::DocumentEnd {
            self.scanner.next()?;
        }
        self.anchors.clear();
        self.tags.clear();
        Ok(Some(Document {
            line,
            nodes: std::mem::take(&mut self.nodes),
            root,
        }))
    }

    fn directives(&mut self) -> Result<(), Problem> {
        let mut has_version = false;
        loop {
            let mark = self.scanner.peek()?.mark;
            match self.peek()? {
                TokenKind::Directive(Directive::Version(_)) if has_version => {
                    return Err(mark.problem("found duplicate %YAML directive"));
                }
                TokenKind::Directive(Directive::Version(false)) => {
                    return Err(mark.problem("found incompatible YAML document"));
                }
                TokenKind::Directive(Directive::Version(true)) => has_version = true,
                TokenKind::Directive(Directive::Tag(handle, prefix)) => {
                    let (handle, prefix) = (handle.clone(), prefix.clone());
                    if self.tags.insert(handle, prefix).is_some() {
                        return Err(mark.problem("found duplicate %TAG directive"));
                    }
                }
                _ => break,
            }
            self.scanner.next()?;
        }
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            let known = self.tags.entry(handle.to_owned());
            known.or_insert_with(|| prefix.to_owned());
        }
        Ok(())
    }

    fn peek(&mut self) -> Result<&TokenKind, Problem> {
        Ok(&self.scanner.peek()?.kind)
    }

    fn expect(&mut self, kind: &TokenKind, refusal: &str) -> Result<(), Problem> {
        let token = self.scanner.peek()?;
        if token.kind != *kind {
            return Err(token.mark.problem(refusal));
        }
        self.scanner.next()?;
        Ok(())
    }

    fn add(&mut self, kind: NodeKind, mark: Mark) -> Result<NodeId, Problem> {
        if self.nodes.len() >= limits::YAML_NODES {
            return Err(limit_error(mark));
        }
        self.nodes.push(Node { kind, mark });
        Ok(self.nodes.len() - 1)
    }

    /// Adds the null of a missing value.
    fn empty(&mut self) -> Result<NodeId, Problem> {
        let mark = self.scanner.peek()?.mark;
        let kind = NodeKind::Scalar {
            text: String::new(),
            tag: String::new(),
            is_implicit: true,
        };
        self.add(kind, mark)
    }

    /// Parses a node, or adds a null before one of these tokens.
    fn node_unless(&mut self, place: NodeContext, ends: &[TokenKind]) -> Result<NodeId, Problem> {
        if ends.contains(self.peek()?) {
            self.empty()
        } else {
            self.node(place)
        }
    }

    fn node(&mut self, place: NodeContext) -> Result<NodeId, Problem> {
        let mark = self.scanner.peek()?.mark;
        if let TokenKind::Alias(name) = self.peek()? {
            let name = name.clone();
            self.scanner.next()?;
            let Some(target) = self.anchors.get(&name) else {
                return Err(mark.problem(&format!("unknown anchor '{name}' referenced")));
            };
            return self.add(NodeKind::Alias(*target), mark);
        }
        let (anchor, tag) = self.properties()?;
        let empty = NodeKind::Sequence(Vec::new());
        let id = self.add(empty, mark)?;
        if let Some(anchor) = &anchor {
            self.anchors.insert(anchor.clone(), id);
        }
        self.depth += 1;
        if self.depth > limits::YAML_DEPTH {
            return Err(limit_error(mark));
        }
        let has_properties = anchor.is_some() || tag.is_some();
        let kind = self.content(place, tag, has_properties, mark)?;
        self.depth -= 1;
        self.nodes[id].kind = kind;
        Ok(id)
    }

    /// Parses the anchor and the tag before a node, in either order.
    fn properties(&mut self) -> Result<(Option<String>, Option<String>), Problem> {
        let (mut anchor, mut tag) = (None, None);
        loop {
            let mark = self.scanner.peek()?.mark;
            match self.peek()? {
                TokenKind::Anchor(name) if anchor.is_none() => anchor = Some(name.clone()),
                TokenKind::Tag(handle, suffix) if tag.is_none() => {
                    let (handle, suffix) = (handle.clone(), suffix.clone());
                    let prefix = match self.tags.get(&handle) {
                        _ if handle.is_empty() => "",
                        Some(prefix) => prefix.as_str(),
                        None => return Err(mark.problem("found undefined tag handle")),
                    };
                    tag = Some([prefix, &suffix].concat());
                }
                _ => return Ok((anchor, tag)),
            }
            self.scanner.next()?;
        }
    }

    fn content(
        &mut self,
        place: NodeContext,
        tag: Option<String>,
        has_properties: bool,
        mark: Mark,
    ) -> Result<NodeKind, Problem> {
        let is_block = place != NodeContext::Flow;
        match self.peek()? {
            TokenKind::BlockEntry if place == NodeContext::Entry => self.indentless_sequence(),
            TokenKind::Scalar(scalar) => {
                let (text, is_plain) = (scalar.text.clone(), scalar.is_plain);
                self.scanner.next()?;
                let tag = tag.unwrap_or_default();
                let is_implicit = tag.is_empty() && is_plain || tag == "!";
                Ok(NodeKind::Scalar {
                    text,
                    tag,
                    is_implicit,
                })
            }
            TokenKind::FlowSequenceStart => self.flow_sequence(),
            TokenKind::FlowMappingStart => self.flow_mapping(),
            TokenKind::BlockSequenceStart if is_block => self.block_sequence(),
            TokenKind::BlockMappingStart if is_block => self.block_mapping(),
            _ if has_properties => Ok(NodeKind::Scalar {
                text: String::new(),
                is_implicit: tag.is_none(),
                tag: tag.unwrap_or_default(),
            }),
            _ => Err(mark.problem("did not find expected node content")),
        }
    }

    fn block_sequence(&mut self) -> Result<NodeKind, Problem> {
        self.scanner.next()?;
        let mut items = Vec::new();
        while *self.peek()? == TokenKind::BlockEntry {
            self.scanner.next()?;
            let ends = [TokenKind::BlockEntry, TokenKind::BlockEnd];
            items.push(self.node_unless(NodeContext::Block, &ends)?);
        }
        self.expect(&TokenKind::BlockEnd, "did not find expected '-' indicator")?;
        Ok(NodeKind::Sequence(items))
    }

    fn indentless_sequence(&mut self) -> Result<NodeKind, Problem> {
        let mut items = Vec::new();
        while *self.peek()? == TokenKind::BlockEntry {
            self.scanner.next()?;
            let ends = [
                TokenKind::BlockEntry,
                TokenKind::Key,
                TokenKind::Value,
                TokenKind::BlockEnd,
            ];
            items.push(self.node_unless(NodeContext::Block, &ends)?);
        }
        Ok(NodeKind::Sequence(items))
    }

    fn block_mapping(&mut self) -> Result<NodeKind, Problem> {
        self.scanner.next()?;
        let ends = [TokenKind::Key, TokenKind::Value, TokenKind::BlockEnd];
        let mut fields = Vec::new();
        while *self.peek()? == TokenKind::Key {
            self.scanner.next()?;
            let key = self.node_unless(NodeContext::Entry, &ends)?;
            fields.push((key, self.value(NodeContext::Entry, &ends)?));
        }
        self.expect(&TokenKind::BlockEnd, "did not find expected key")?;
        Ok(NodeKind::Mapping(fields))
    }

    /// Parses the value of a key, if a `:` follows.
    fn value(&mut self, place: NodeContext, ends: &[TokenKind]) -> Result<NodeId, Problem> {
        if *self.peek()? != TokenKind::Value {
            return self.empty();
        }
        self.scanner.next()?;
        self.node_unless(place, ends)
    }

    /// Returns whether another element follows within brackets. A comma must precede it unless it is the first.
    fn has_next(
        &mut self,
        end: &TokenKind,
        is_first: bool,
        refusal: &str,
    ) -> Result<bool, Problem> {
        if self.peek()? == end {
            return Ok(false);
        }
        if !is_first {
            self.expect(&TokenKind::FlowEntry, refusal)?;
        }
        Ok(self.peek()? != end)
    }

    fn flow_sequence(&mut self) -> Result<NodeKind, Problem> {
        self.scanner.next()?;
        let end = TokenKind::FlowSequenceEnd;
        let mut items = Vec::new();
        while self.has_next(&end, items.is_empty(), "did not find expected ',' or ']'")? {
            items.push(if *self.peek()? == TokenKind::Key {
                self.pair()?
            } else {
                self.node(NodeContext::Flow)?
            });
        }
        self.scanner.next()?;
        Ok(NodeKind::Sequence(items))
    }

    /// Parses a mapping with one key within the brackets of a sequence.
    fn pair(&mut self) -> Result<NodeId, Problem> {
        let mark = self.scanner.next()?.mark;
        let ends = [TokenKind::FlowEntry, TokenKind::FlowSequenceEnd];
        let next = self.peek()?;
        let key = if *next == TokenKind::Value || ends.contains(next) {
            // Go skips the token after a missing key.
            self.scanner.next()?;
            self.empty()?
        } else {
            self.node(NodeContext::Flow)?
        };
        let value = self.value(NodeContext::Flow, &ends)?;
        self.add(NodeKind::Mapping(vec![(key, value)]), mark)
    }

    fn flow_mapping(&mut self) -> Result<NodeKind, Problem> {
        self.scanner.next()?;
        let end = TokenKind::FlowMappingEnd;
        let ends = [TokenKind::FlowEntry, TokenKind::FlowMappingEnd];
        let mut fields = Vec::new();
        while self.has_next(&end, fields.is_empty(), "did not find expected ',' or '}'")? {
            if *self.peek()? != TokenKind::Key {
                let key = self.node(NodeContext::Flow)?;
                fields.push((key, self.empty()?));
                continue;
            }
            self.scanner.next()?;
            let next = self.peek()?;
            let key = if *next == TokenKind::Value || ends.contains(next) {
                self.empty()?
            } else {
                self.node(NodeContext::Flow)?
            };
            fields.push((key, self.value(NodeContext::Flow, &ends)?));
        }
        self.scanner.next()?;
        Ok(NodeKind::Mapping(fields))
    }
}

/// Returns the error of a text that exceeds a limit.
pub(super) fn limit_error(mark: Mark) -> Problem {
    mark.problem(&format!(
        "nested deeper than {} levels, or more than {} values or {} bytes of text with all aliases expanded",
        limits::YAML_DEPTH,
        limits::YAML_NODES,
        limits::YAML_SIZE
    ))
}
