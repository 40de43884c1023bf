"""The heat equation on a surface: each bone warms the skin that it is nearest to, and warmth spreads along the skin."""

import numpy as np
from jaxtyping import Float
from scipy.sparse import csc_matrix, diags_array
from scipy.sparse.linalg import splu

from akd.rigging.surface import Surface


def laplacian(surface: Surface) -> tuple[csc_matrix, Float[np.ndarray, " point"]]:
    """Cotangent matrix (positive semi-definite) and areas; a tufted cover makes it sound on meshes with any defect.

    Voronoi areas depend less than thirds of triangles on which diagonal parts a quadrilateral.
    """
    import igl
    import robust_laplacian

    matrix, _ = robust_laplacian.mesh_laplacian(surface.points, surface.faces)
    area = igl.massmatrix(surface.points, surface.faces.astype(np.int64), igl.MASSMATRIX_TYPE_VORONOI).diagonal()
    return csc_matrix(matrix), np.maximum(area, 1e-9 * max(float(area.mean()), 1e-300))


def diffuse(
    matrix: csc_matrix, area: Float[np.ndarray, " point"], conductance: Float[np.ndarray, " point"],
    source: Float[np.ndarray, "point joint"],
) -> Float[np.ndarray, "point joint"]:  # fmt: skip
    """Solve (L + M H) w = M H p for all joints with one factorisation; ``conductance`` is the diagonal of H.

    L maps constants to zero, so rows of w sum to one as those of p do. Every piece needs a point that conducts.
    """
    load = area * conductance
    system = csc_matrix(matrix + diags_array(load))
    # A symmetric positive definite matrix needs no pivoting, and this ordering keeps its factor about as thin as Cholesky's.
    factor = splu(system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    used = np.flatnonzero(source.any(0))
    out = np.zeros_like(source)
    out[:, used] = factor.solve(load[:, None] * source[:, used])
    return out
