"""Programs on arrays as users write them, their loops, and the arrays that they are traced with."""
