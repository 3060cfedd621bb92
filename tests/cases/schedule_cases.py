"""Circuits with vector programs written by hand, in the form that a search for lanes takes and gives."""

from latticework._core.lanes import InstructionCounts, ScalarCircuit, VectorInstruction, VectorProgram

INPUT, ADD, SUB, MUL = 0, 1, 2, 3
CODES = {"input": 0, "rotate": 1, "add": 2, "sub": 3, "mul": 4, "mul_constant": 7}


class Circuit:
    """Scalar nodes, numbered as they are made."""

    def __init__(self, width):
        self.code, self.left, self.right, self.group, self.names = [], [], [], [], {}
        self.width = width

    def node(self, code, left=-1, right=-1, group=-1):
        for column, item in zip(
            (self.code, self.left, self.right, self.group), (code, left, right, group), strict=True
        ):
            column.append(item)
        return len(self.code) - 1

    def inputs(self, group, *names):
        numbers = [self.node(INPUT, group=group) for _ in names]
        self.names |= dict(zip(numbers, names, strict=True))
        return numbers

    def graph(self, outputs, packing):
        fixed = [[] for _ in packing]
        return ScalarCircuit(self.code, self.left, self.right, self.group, packing, fixed, outputs, self.width)


class Vectors:
    """Vector instructions, numbered as they are made; a stage goes on until `stage` is called."""

    def __init__(self):
        self.rows, self.now = [], 0

    def stage(self):
        self.now += 1

    def make(self, code, left=-1, right=-1, steps=0, table=(), computes=(), is_mask=False):
        self.rows.append(VectorInstruction(CODES[code], left, right, steps, table, computes, self.now, is_mask))
        return len(self.rows) - 1

    def mask(self, left, lanes):
        return self.make("mul_constant", left, table=[(lane, -2) for lane in lanes], is_mask=True)

    def result(self, outputs, blends=0):
        return VectorProgram(self.rows, outputs, InstructionCounts(blends=blends), cost=1.0)


def two_products():
    """(a + b)(c + d) + (e + f)(g + h): two sums, one product, one rotation, one sum."""
    c, v = Circuit(8), Vectors()
    a, b, cc, d, e, f, g, h = c.inputs(0, *"abcdefgh")
    sums = [c.node(ADD, x, y) for x, y in ((a, b), (cc, d), (e, f), (g, h))]
    products = [c.node(MUL, sums[0], sums[1]), c.node(MUL, sums[2], sums[3])]
    total = c.node(ADD, *products)
    vectors = [
        v.make("input", 0, i, table=[(0, x), (1, y)]) for i, (x, y) in enumerate(((a, e), (b, f), (cc, g), (d, h)))
    ]
    v.stage()
    left = v.make("add", vectors[0], vectors[1], computes=[(0, sums[0]), (1, sums[2])])
    right = v.make("add", vectors[2], vectors[3], computes=[(0, sums[1]), (1, sums[3])])
    v.stage()
    both = v.make("mul", left, right, computes=[(0, products[0]), (1, products[1])])
    v.stage()
    turned = v.make("rotate", both, steps=1)
    end = v.make("add", both, turned, computes=[(0, total)])
    return c, c.graph([total], [0]), v.result([(end, 0)])


def blended():
    """x0*y0 + x1*y1 and x0*y0 - x1*y1 beside y0: products that meet in two lanes, merged after masks."""
    c, v = Circuit(8), Vectors()
    x0, x1 = c.inputs(0, "x[0]", "x[1]")
    y0, y1 = c.inputs(1, "y[0]", "y[1]")
    p0, p1 = c.node(MUL, x0, y0), c.node(MUL, x1, y1)
    total, last = c.node(ADD, p0, p1), c.node(MUL, p1, p0)
    x = v.make("input", 0, 0, table=[(0, x0), (1, x1)])
    y = v.make("input", 1, 0, table=[(0, y0), (1, y1)])
    v.stage()
    p = v.make("mul", x, y, computes=[(0, p0), (1, p1)])
    v.stage()
    turned = v.make("rotate", p, steps=1)
    s = v.make("add", p, turned, computes=[(0, total)])
    v.stage()
    back = v.make("rotate", p, steps=-1)
    q = v.make("mul", p, back, computes=[(1, last)])
    v.stage()
    merged = v.make("add", v.mask(s, [0]), v.mask(q, [1]))
    return c, c.graph([total, last], [1, 1]), v.result([(merged, 0), (merged, 1)], blends=1)


def inner_product(length, width):
    """A dot product by a multiplication and a tree of rotations, replicated to no lane."""
    c, v = Circuit(width), Vectors()
    a = c.inputs(0, *(f"a[{i}]" for i in range(length)))
    b = c.inputs(1, *(f"b[{i}]" for i in range(length)))
    nodes = [c.node(MUL, x, y) for x, y in zip(a, b, strict=True)]
    left = v.make("input", 0, 0, table=list(enumerate(a)))
    right = v.make("input", 1, 0, table=list(enumerate(b)))
    v.stage()
    total = v.make("mul", left, right, computes=list(enumerate(nodes)))
    half = length // 2
    while half:
        v.stage()
        nodes = [c.node(ADD, nodes[i], nodes[i + half]) for i in range(half)]
        turned = v.make("rotate", total, steps=half)
        total = v.make("add", total, turned, computes=list(enumerate(nodes)))
        half //= 2
    return c, c.graph(nodes, [1, 1]), v.result([(total, 0)])
