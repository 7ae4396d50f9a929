/* allreduce_mpi ELEMENTS ROUNDS: rank 0 prints the mean time in ms of summing so many floats over all ranks, in place. Built by
 * mpicc. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

static double reduce(float *values, int count)
{
        double start;

        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        return MPI_Wtime() - start;
}

int main(int argc, char **argv)
{
        int count = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 1, rank;
        float *values = malloc((size_t)count * sizeof *values);
        double sum = 0;

        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (!values)
                MPI_Abort(MPI_COMM_WORLD, 1);
        for (int i = 0; i < count; i++)
                values[i] = 1; /* a power of two after each round */
        reduce(values, count);
        for (int round = 0; round < rounds; round++)
                sum += reduce(values, count);
        if (rank == 0)
                printf("%.6f\n", sum * 1e3 / rounds);
        MPI_Finalize();
        free(values);
        return 0;
}
